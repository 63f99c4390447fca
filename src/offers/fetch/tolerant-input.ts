import type { TObject, TSchema } from '@sinclair/typebox';
import { maxPlacementLength } from '../../catalog/names.ts';
import { createPartCheck } from '../../platform/http/validation.ts';
import { type Problem, problem } from '../../platform/problem.ts';

/**
 * Adds a notice that a request field was ignored or dropped, with the reason. `path` has the same format as in error
 * details.
 */
export type Note = (path: string, message: Problem) => void;

/** Notices for values that a schema cannot validate. */
export const noAddress = problem('addressIgnored');
export const noLanguage = problem('languageIgnored');
const noReadableValue = problem('unreadableIgnored');
const nullValue = problem('nullIgnored');
const emptyValue = problem('emptyIgnored');

/**
 * Fields for which an unreadable value is not ignored, but causes the call to be rejected
 * (docs/reading-input.md#requests).
 */
const strictFields: ReadonlySet<string> = new Set(['loyaltyboost', 'creative', 'campaignId', 'publisher_id']);

/**
 * Fields for which no notice is added, because other code handles them: the authenticator reads keys, and
 * `readPlacement` applies the default placement.
 */
const silentFields: ReadonlySet<string> = new Set(['key', 'api_key', 'accountId', 'placement']);

const noTextOrNumber = (maxLength: number): Problem => problem('placementIgnored', { max: maxLength });
const noUserId = noTextOrNumber(256);
const noUserAgent = problem('userAgentIgnored');

/** Notices for unreadable values, by field. */
const unreadable: Readonly<Record<string, Problem>> = {
  placement: noTextOrNumber(maxPlacementLength),
  ua: noUserAgent,
  user_agent: noUserAgent,
  ip: noAddress,
  ad_fp: noUserId,
  adpx_fp: noUserId,
  fingerprint: noUserId,
  pub_user_id: noUserId,
  email_sha256: problem('hashIgnored'),
  dev: problem('devIgnored'),
  language: noLanguage,
  timeout_ms: problem('timeoutIgnored'),
  limit: problem('countIgnored', { max: 100 }),
};

/** Path prefix of query parameters. */
const queryPath = '/querystring';

/**
 * Creates a validator for optional request values. It removes empty, `null` and unreadable values from the query and
 * body, and adds a notice for each. For a valid request, this costs only one run of the compiled schema, as on any
 * other route.
 * @throws AppError invalid_request if the value is unreadable and its field must not be ignored
 */
export function createTolerantCheck(schemas: {
  body: TObject;
  querystring: TObject;
}): (request: { body: unknown; query: unknown }, note: Note) => void {
  const checkBody = createFieldCheck(schemas.body, 'body');
  const checkQuery = createFieldCheck(schemas.querystring, 'querystring');
  return (request, note) => {
    request.body = objectOf(request.body, note);
    checkBody(request.body as Fields, note);
    checkQuery(request.query as Fields, note);
  };
}

type Fields = Record<string, unknown>;

function objectOf(body: unknown, note: Note): Fields {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Fields;
  // Ignore the body with a notice instead of rejecting it: PHP clients encode an empty payload as `[]`.
  if (body !== undefined) note('', problem('bodyIgnored'));
  return {};
}

function createFieldCheck(schema: TObject, part: 'body' | 'querystring') {
  const isValid = createPartCheck(schema, part);
  const prefix = part === 'body' ? '' : queryPath;
  const fieldChecks = new Map<string, ReturnType<typeof createPartCheck>>();
  const checkOf = (name: string, field: TSchema) => {
    const check = fieldChecks.get(name) ?? createPartCheck(field, part);
    fieldChecks.set(name, check);
    return check;
  };

  return (fields: Fields, note: Note): void => {
    removeEmpty(fields, schema.properties, (name, message) => note(`${prefix}/${name}`, message));
    if (isValid(fields) === null) return;
    for (const [name, field] of Object.entries(schema.properties)) {
      if (fields[name] === undefined) continue;
      const refusal = checkOf(name, field)(fields[name]);
      if (refusal === null) continue;
      if (strictFields.has(name)) throw refusal(`/${name}`);
      note(`${prefix}/${name}`, unreadable[name] ?? noReadableValue);
      delete fields[name];
    }
  };
}

/**
 * Removes `null` values, and empty strings in fields of the schema. All other fields are custom attributes, which may
 * be empty.
 */
function removeEmpty(fields: Fields, schemaFields: Fields, note: Note): void {
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    const isBlank = typeof value === 'string' && isEmpty(value, name) && Object.hasOwn(schemaFields, name);
    if (value !== null && !isBlank) continue;
    delete fields[name];
    if (!silentFields.has(name)) note(name.slice(0, 64), value === null ? nullValue : emptyValue);
    else if (name === 'placement') fields.placement = '';
  }
}

/**
 * Whether a string is empty. Strings of only spaces count as empty, except in `consent`, where they are an unknown
 * value and therefore mean no consent.
 */
const isEmpty = (text: string, name: string): boolean =>
  text === '' || (text.charCodeAt(0) <= 32 && name !== 'consent' && text.trim() === '');
