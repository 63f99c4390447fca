import { type Static, Type } from '@sinclair/typebox';
import { callOf, type ManagementHttp, publisherQuery, requirePermission } from '../../management/http.ts';
import { strictBody } from '../../management/strict-body.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers, exactNumber } from '../../platform/http/schemas.ts';
import { runInSlices } from '../../platform/lib/slices.ts';
import { timeOf } from '../../platform/lib/time-zone.ts';
import { problem } from '../../platform/problem.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import { listId } from '../audiences.ts';
import { emailHashOf, emailKeys } from '../profile-keys.ts';
import { refusalOfId } from '../user-ids.ts';
import { addMembers, removeMembers } from './members.ts';

const path = '/manage/v1/audiences/:key/members';
const params = Type.Object({ key: Type.String() });

/** Maximum number of users per call. */
const maxMembers = 10_000;

const list = (description: string) =>
  Type.Optional(
    Type.Array(Type.Union([Type.String({ maxLength: 256 }), exactNumber]), { maxItems: maxMembers, description }),
  );
const membersFields = {
  ids: list('User IDs (`pub_user_id`).'),
  sha256_emails: list(
    'SHA-256 hashes of e-mail addresses, as 64 hex digits (`email_sha256` in fetches). Trim the address and ' +
      'convert it to lower case before hashing.',
  ),
};
const removeBody = Type.Object(membersFields, { title: 'AudienceMembers', additionalProperties: false });
const addBody = Type.Object(
  {
    ...membersFields,
    expires_at: Type.Optional(
      Type.Union([Type.String({ maxLength: 40 }), Type.Null()], {
        description:
          'Expiry of the memberships as a future RFC 3339 time. Without it, or with `null`, they never expire.',
      }),
    ),
  },
  { title: 'NewAudienceMembers', additionalProperties: false },
);
const answer = (title: string, field: string, description: string) =>
  Type.Object(
    {
      message: Type.String(),
      data: Type.Object({ key: Type.String(), [field]: Type.Integer({ description }), size: Type.Integer() }),
    },
    { title },
  );

type MembersRoute = { Params: Static<typeof params>; Body: Static<typeof addBody> };
type Members = { http: ManagementHttp; userKeys: UserKeys };

/** Registers the audience member routes (docs/reference/users-and-privacy.md#audiences). */
export async function memberRoutes(app: App, { http, userKeys }: Members): Promise<void> {
  const { management } = http;
  const hooks = { ...requirePermission(http, 'configurations'), ...strictBody, bodyLimit: 2 * 1024 * 1024 };
  const sizeOf = async ({ executor }: Work, id: number): Promise<number> => {
    const { rows } = await executor.query<{ members: number }>(
      'select members::float8 as members from audience_sizes where audience_id = $1',
      [id],
    );
    return rows[0]?.members ?? 0;
  };

  const putSchema = {
    operationId: 'addAudienceMembers',
    summary: 'Add members to an audience',
    description:
      'Adds up to 10,000 users, or none of them if one is invalid. They are members from the next fetch on. ' +
      'Existing members get the new expiry.',
    tags: ['Audiences'],
    params,
    querystring: publisherQuery,
    body: addBody,
    response: {
      200: answer('MembersAddedAnswer', 'added', 'Number of users who were not members before.'),
      ...errorAnswers(400, 401, 403, 404),
    },
  };
  app.put<MembersRoute>(path, { schema: putSchema, ...hooks }, async (request) => {
    const { actor, publisherId } = callOf(request);
    const { key } = request.params;
    const data = await management.write(actor, publisherId, async (work) => {
      const id = await listId(work, key, 'for key share');
      const users = await runInSlices(readUsers(request.body, userKeys, publisherId));
      const expiresAt = readEnd(request.body.expires_at, work.nowMs);
      const earlier = users.flatMap((keys) => keys.slice(1));
      const moved = earlier.length === 0 ? 0 : await removeMembers(work.executor, id, earlier);
      const added = await addMembers(work.executor, id, users.map(presentOf), expiresAt);
      return { key, added: Math.max(0, added - moved), size: await sizeOf(work, id) };
    });
    return { message: 'Members added.', data };
  });

  const deleteSchema = {
    operationId: 'removeAudienceMembers',
    summary: 'Remove members from an audience',
    description: 'Removes up to 10,000 users. Users who are not members are ignored.',
    tags: ['Audiences'],
    params,
    querystring: publisherQuery,
    body: removeBody,
    response: {
      200: answer('MembersRemovedAnswer', 'removed', 'Number of users who were members.'),
      ...errorAnswers(400, 401, 403, 404),
    },
  };
  app.delete<MembersRoute>(path, { schema: deleteSchema, ...hooks }, async (request) => {
    const { actor, publisherId } = callOf(request);
    const { key } = request.params;
    const data = await management.write(actor, publisherId, async (work) => {
      const id = await listId(work, key, 'for key share');
      const users = await runInSlices(readUsers(request.body, userKeys, publisherId));
      const removed = await removeMembers(work.executor, id, users.flat());
      return { key, removed, size: await sizeOf(work, id) };
    });
    return { message: 'Members removed.', data };
  });
}

const presentOf = (keys: readonly string[]): string => keys[0] as string;

/** Maximum number of reported errors. */
const maxDetails = 20;

/** Number of users to hash before yielding to the event loop. */
const sliceSize = 500;

/**
 * Returns the keys of each user in a body. Each user's current key comes first.
 * @throws AppError invalid_request; pub_user_id_is_pii if every error concerns a PII ID
 */
function* readUsers(
  { ids = [], sha256_emails: hashes = [] }: Static<typeof removeBody>,
  userKeys: UserKeys,
  publisherId: number,
): Generator<void, string[][]> {
  const details: ErrorDetail[] = [];
  const users: string[][] = [];
  let isPii = true;
  for (const [index, value] of ids.entries()) {
    const { id, refusal } = refusalOfId(value);
    if (refusal !== null) details.push({ path: `/ids/${index}`, message: refusal.message });
    if (refusal?.code === 'invalid_request') isPii = false;
    if (users.push(userKeys.allOf(publisherId, id)) % sliceSize === 0) yield;
  }
  for (const [index, value] of hashes.entries()) {
    const hash = emailHashOf(String(value));
    if (hash === null) details.push({ path: `/sha256_emails/${index}`, message: problem('hexDigits') });
    if (hash === null) isPii = false;
    if (users.push(emailKeys(userKeys, publisherId, hash ?? '')) % sliceSize === 0) yield;
  }
  if (ids.length + hashes.length === 0) {
    details.push({ path: '/', message: problem('idsOrHashes') });
    isPii = false;
  }
  if (details.length > 0)
    throw new AppError(isPii ? 'pub_user_id_is_pii' : 'invalid_request', { details: details.slice(0, maxDetails) });
  return users;
}

function readEnd(text: string | null | undefined, nowMs: number): Date | null {
  if (text === undefined || text === null) return null;
  const atMs = timeOf(text);
  if (atMs === null || !(atMs > nowMs))
    throw new AppError('invalid_request', {
      details: [{ path: '/expires_at', message: problem('futureRfc3339') }],
    });
  return new Date(atMs);
}
