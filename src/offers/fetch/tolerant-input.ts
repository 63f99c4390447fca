import type { TObject, TSchema } from '@sinclair/typebox';
import { maxPlacementLength } from '../../catalog/names.ts';
import { createPartCheck } from '../../platform/http/validation.ts';
import { type Problem, problem } from '../../platform/problem.ts';

/** Reports that a field of a request was ignored or dropped, and why. `path` has the format of an error's details. */
export type Note = (path: string, message: Problem) => void;

/** Notices of values that a schema cannot validate. */
export const noAddress = problem('addressIgnored');
export const noLanguage = problem('languageIgnored');
const noReadableValue = problem('unreadableIgnored');
const nullValue = problem('nullIgnored');
const emptyValue = problem('emptyIgnored');

/** Fields whose unreadable values reject a call instead of counting as absent (docs/reading-input.md#requests). */
const strictFields: ReadonlySet<string> = new Set(['loyaltyboost', 'creative', 'campaignId', 'publisher_id']);

/** Fields that are handled elsewhere: keys by the authenticator, and the placement together with its default. */
const silentFields: ReadonlySet<string> = new Set(['key', 'api_key', 'accountId', 'placement']);

const noTextOrNumber = (maxLength: number): Problem => problem('placementIgnored', { max: maxLength });
const noUserId = noTextOrNumber(256);
const noUserAgent = problem('userAgentIgnored');

/** Notices of unreadable values by field. */
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

/** Prefix of the paths of query parameters. */
const queryPath = '/querystring';

/**
 * Creates a check of optional request values that removes and notes empty, `null` and unreadable values in query and
 * body. A valid request costs one run of the compiled schema, as for any other route.
 * @throws AppError invalid_request for an unreadable value of a field that rejects calls
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
  // PHP programs encode an empty payload as `[]`.
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

/** Removes `null`, and empty texts of fields in the schema. Other fields are the publisher's own. */
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

/** Whether text is empty. For `consent`, blanks count as an unknown value, which refuses it. */
const isEmpty = (text: string, name: string): boolean =>
  text === '' || (text.charCodeAt(0) <= 32 && name !== 'consent' && text.trim() === '');
