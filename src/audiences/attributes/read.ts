import { type Static, Type } from '@sinclair/typebox';
import { attributeNamePattern, maxAttributeLength, maxAttributes, refusedAttributeNames } from '../../catalog/names.ts';
import { withoutApiKey } from '../../management/http.ts';
import { checkValue } from '../../management/schema-errors.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { exactNumber, noNul } from '../../platform/http/schemas.ts';
import { createPacer } from '../../platform/lib/slices.ts';
import { timeOf } from '../../platform/lib/time-zone.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import { refusalOfId } from '../user-ids.ts';

/** Maximum number of users per call. */
const maxUsers = 1000;

/** Maximum number of reported errors. */
const maxDetails = 20;

const attributesBody = Type.Record(Type.String(), Type.Unknown(), {
  description:
    'Attributes by name. Names have 1 to 64 characters of A–Z a–z 0–9 _ . -. Values are strings of up to ' +
    `${maxAttributeLength} characters, numbers or booleans; \`null\` removes the attribute. A user has at most ` +
    `${maxAttributes} attributes, and the type of an attribute cannot change.`,
});
const expiresAt = Type.Optional(
  Type.Union([Type.String({ maxLength: 40 }), Type.Null()], {
    description:
      'Expiry of the attributes in this call, as a future RFC 3339 time. Without it, or with `null`, they never ' +
      'expire.',
  }),
);

export const userBody = Type.Object(
  { attributes: attributesBody, expires_at: expiresAt },
  { title: 'UserAttributesInput', additionalProperties: false },
);

const userOfBatch = Type.Object(
  {
    pub_user_id: Type.Union([Type.String({ minLength: 1, maxLength: 256, pattern: noNul }), exactNumber]),
    attributes: attributesBody,
    expires_at: expiresAt,
  },
  { title: 'UserOfBatch', additionalProperties: false },
);

const usersList = Type.Array(userOfBatch, { minItems: 1, maxItems: maxUsers });
export const usersBody = Type.Union([usersList, Type.Object({ users: usersList }, { additionalProperties: false })], {
  title: 'UserAttributesBatch',
});

export type UserBody = Static<typeof userBody>;

/** Change to a user's attributes. `path` is the location of the change in the request body. */
export type AttributesChange = {
  pubUserId: string;
  set: ReadonlyMap<string, string | number | boolean>;
  remove: readonly string[];
  /** Expiry time of the attributes in epoch milliseconds. Null if they do not expire. */
  untilMs: number | null;
  path: string;
};

/**
 * Parses a user ID.
 * @throws AppError pub_user_id_is_pii, invalid_request
 */
export function readPubUserId(value: string | number, path = '/pub_user_id'): string {
  const { id, refusal } = refusalOfId(value);
  if (refusal !== null) throw new AppError(refusal.code, { details: [{ path, message: refusal.message }] });
  return id;
}

/**
 * Parses the changes to a user's attributes.
 * @throws AppError pub_user_id_is_pii, invalid_request
 */
export function readChange(id: string | number, body: UserBody, nowMs: number): AttributesChange {
  const details: ErrorDetail[] = [];
  const change = changeOf(readPubUserId(id), body, { path: '', nowMs, details });
  return orThrow(change, details);
}

/**
 * Parses the changes in a body described by `usersBody`. Yields to the event loop between users, so that 50,000
 * attributes do not block other requests.
 * @throws AppError pub_user_id_is_pii, invalid_request
 */
export async function readChanges(body: unknown, nowMs: number): Promise<AttributesChange[]> {
  const input = withoutApiKey(body ?? {});
  const users = usersIn(input);
  const prefix = Array.isArray(input) ? '' : '/users';
  const details: ErrorDetail[] = [];
  const changes: AttributesChange[] = [];
  const pace = createPacer();
  for (const [index, user] of users.entries()) {
    const path = `${prefix}/${index}`;
    const wrong = checkValue(userOfBatch, user);
    details.push(...wrong.map((detail) => ({ ...detail, path: `${path}${detail.path}` })));
    if (wrong.length === 0) {
      const { pub_user_id, ...change } = user as Static<typeof userOfBatch>;
      const pubUserId = readPubUserId(pub_user_id, `${path}/pub_user_id`);
      changes.push(changeOf(pubUserId, change, { path, nowMs, details }));
    }
    if (details.length >= maxDetails) break;
    await pace();
  }
  return orThrow(changes, details);
}

/**
 * Returns the users in a body. Each user is validated later.
 * @throws AppError invalid_request
 */
function usersIn(input: unknown): unknown[] {
  const isList = Array.isArray(input);
  const { users } = (isList ? { users: input } : input) as { users?: unknown };
  const rest = isList ? {} : (input as object);
  const details = checkValue(batchShape, Array.isArray(users) ? { ...rest, users: users.map(() => null) } : input);
  if (details.length > 0)
    throw new AppError('invalid_request', {
      details: isList ? details.map((detail) => ({ ...detail, path: '/' })) : details,
    });
  return users as unknown[];
}

const batchShape = Type.Object(
  { users: Type.Array(Type.Null(), { minItems: 1, maxItems: maxUsers }) },
  { additionalProperties: false },
);

function orThrow<Read>(read: Read, details: readonly ErrorDetail[]): Read {
  if (details.length > 0) throw new AppError('invalid_request', { details: details.slice(0, maxDetails) });
  return read;
}

type Reading = { path: string; nowMs: number; details: ErrorDetail[] };

function changeOf(
  pubUserId: string,
  { attributes, expires_at }: Pick<UserBody, 'attributes' | 'expires_at'>,
  { path, nowMs, details }: Reading,
): AttributesChange {
  const untilMs = expires_at === undefined || expires_at === null ? null : timeOf(expires_at);
  if (untilMs !== null && !(untilMs > nowMs))
    details.push({ path: `${path}/expires_at`, message: problem('futureRfc3339') });
  const set = new Map<string, string | number | boolean>();
  const remove: string[] = [];
  for (const [name, value] of Object.entries(attributes)) {
    const message = refusalOf(name, value);
    if (message !== null) details.push({ path: `${path}/attributes/${name.slice(0, 64)}`, message });
    else if (value === null) remove.push(name);
    else set.set(name, value as string | number | boolean);
  }
  return { pubUserId, set, remove, untilMs, path };
}

/** Returns the reason why an attribute can't be stored, or null. */
export function refusalOf(name: string, value: unknown): Problem | null {
  if (refusedAttributeNames.has(name)) return problem('attributeRefused');
  if (!attributeNamePattern.test(name)) return problem('attributeLetters');
  if (value === null || typeof value === 'boolean') return null;
  if (typeof value === 'number') return Number.isFinite(value) ? null : problem('isNumber');
  if (typeof value !== 'string') return problem('attributeValue');
  if (value.includes('\0') || !value.isWellFormed()) return problem('unreadable');
  return [...value].length > maxAttributeLength ? problem('attributeLong', { max: maxAttributeLength }) : null;
}
