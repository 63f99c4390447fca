import type { Executor } from '../platform/db/pool.ts';
import type { UserKeys } from '../platform/security/user-key.ts';
import type { ExportScope, UserSubject } from '../platform/user-data.ts';
import type { UserDataSteps } from './steps.ts';

/** Sessions of one export, and deliveries of it (count each); with more, the export says that it is cut. */
const maxSessions = 2000;

/** All personal data of a user, as they are kept (docs/interface.md#privacy). */
export async function exportUser(
  executor: Executor,
  { userKeys, userData }: { userKeys: UserKeys; userData: UserDataSteps },
  subject: UserSubject,
  now: Date,
): Promise<Record<string, unknown>> {
  const sessions = await userData.findSessions(executor, subject, now, maxSessions);
  const pubUserIds = new Set(sessions.flatMap(({ pubUserId }) => pubUserId ?? []));
  if (subject.namedBy === 'pub_user_id') pubUserIds.add(subject.identifier);
  const exported: Record<string, unknown> = { complete: sessions.length < maxSessions };
  const scope: ExportScope = {
    subject,
    days: [...new Set(sessions.map(({ day }) => day))],
    sessionIds: sessions.map(({ id }) => id),
    userKeys: [...new Set([...subject.userKeys, ...sessions.flatMap(({ userKey }) => userKey ?? [])])],
    pubUserKeys: [...pubUserIds].flatMap((id) => userKeys.allOf(subject.publisherId, id)),
    maxRows: maxSessions,
    onCut: () => {
      exported.complete = false;
    },
  };
  for (const [name, read] of Object.entries(userData.exports)) exported[name] = await read(executor, scope);
  return exported;
}
