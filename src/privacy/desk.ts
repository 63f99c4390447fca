import type { Readable } from 'node:stream';
import type { Config } from '../config.ts';
import type { Alone } from '../management/alone.ts';
import { audit } from '../management/audit.ts';
import type { Work } from '../management/unit-of-work.ts';
import { type Executor, readSlices } from '../platform/db/pool.ts';
import { newUuid7 } from '../platform/lib/uuid7.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import type { ExportScope, IdentifierKind, UserSession, UserSubject } from '../platform/user-data.ts';
import { sealSubject } from './erasure-job.ts';
import { type Erasure, insertErasure } from './erasures.ts';
import { type Envelope, type PersonalData, throughFile, writeJson } from './export-file.ts';
import type { UserDataSteps } from './steps.ts';
import { type NamedUser, readSubject } from './subject.ts';

export type DeskDeps = { secretBox: SecretBox; config: Config; userData: UserDataSteps; alone: Alone };

/** Runs a unit of work in a single transaction. */
type WriteOnce = (work: (work: Work) => Promise<void>) => Promise<void>;

/**
 * Operations on a user's personal data. The API and the dashboard both use them
 * (docs/reference/users-and-privacy.md#privacy).
 */
export type PrivacyDesk = {
  /**
   * Returns the user that an identifier refers to.
   * @throws AppError invalid_request unless exactly one identifier is given
   */
  subjectOf: (publisherId: number, identifiers: NamedUser) => UserSubject;
  /** Reads all personal data stored about a user. `work` must be a transaction. */
  read: (work: { executor: Executor; nowMs: number }, subject: UserSubject) => Promise<PersonalData>;
  /**
   * Exports a user's personal data as JSON. `write` runs the export in one transaction. The audit log records the
   * export, but does not identify the user.
   */
  export: (subject: UserSubject, write: WriteOnce, envelope?: Envelope) => Promise<Readable>;
  /** Requests the erasure of a user's data. A worker performs it later. */
  erase: (work: Work, subject: UserSubject) => Promise<Erasure>;
};

export function createDesk({ secretBox, config, userData, alone }: DeskDeps): PrivacyDesk {
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);

  const read: PrivacyDesk['read'] = async ({ executor, nowMs }, subject) => {
    const sessionIds: string[] = [];
    const keys = new Set(subject.userKeys);
    const pubUserIds = new Set(subject.namedBy === 'pub_user_id' ? [subject.identifier] : []);
    const { text, values } = userData.findSessions(subject, new Date(nowMs));
    for await (const sessions of readSlices<UserSession>(executor, text, values))
      for (const { id, userKey, pubUserId } of sessions) {
        sessionIds.push(id);
        if (userKey !== null) keys.add(userKey);
        if (pubUserId !== null) pubUserIds.add(pubUserId);
      }
    const scope: ExportScope = {
      subject,
      sessionIds: sessionIds.sort(),
      userKeys: [...keys],
      pubUserKeys: [...pubUserIds].flatMap((id) => userKeys.allOf(subject.publisherId, id)),
    };
    return new Map(Object.entries(userData.exports).map(([kind, rowsOf]) => [kind, rowsOf(executor, scope)]));
  };

  return {
    subjectOf: (publisherId, identifiers) => readSubject(userKeys, publisherId, identifiers),
    read,
    export: (subject, write, envelope = { before: '', after: '' }) =>
      alone(subject.publisherId, () =>
        throughFile((path) =>
          write(async (work) => {
            await writeJson(path, await read(work, subject), envelope);
            await note(work, 'exports', newUuid7(work.nowMs), subject.namedBy);
          }),
        ),
      ),
    erase: async (work, { identifier, userKeys: _all, ...subject }) => {
      const erasure = await insertErasure(work.executor, {
        ...subject,
        id: newUuid7(work.nowMs),
        requestedAt: new Date(work.nowMs),
        subjectSealed: sealSubject(secretBox, identifier),
      });
      await note(work, 'erasures', erasure.id, subject.namedBy);
      return erasure;
    },
  };
}

/** Writes an audit log entry without the user identifier. */
const note = (work: Work, name: 'exports' | 'erasures', id: string, namedBy: IdentifierKind): Promise<void> =>
  audit(work, { resource: { name, key: 'id' }, action: 'create', before: null, after: { id, named_by: namedBy } });
