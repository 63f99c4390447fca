import { audit } from '../management/audit.ts';
import type { Work } from '../management/unit-of-work.ts';
import type { Executor } from '../platform/db/pool.ts';
import { AppError } from '../platform/errors.ts';
import { textOrNull } from '../platform/http/body-parsing.ts';
import { newUuid7 } from '../platform/lib/uuid7.ts';
import type { PlatformDeps } from '../platform/ports.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import type { ExportScope, IdentifierKind, UserSubject } from '../platform/user-data.ts';
import { sealSubject } from './erasure-job.ts';
import { type Erasure, insertErasure } from './erasures.ts';
import type { UserDataSteps } from './steps.ts';

export type DeskDeps = Pick<PlatformDeps, 'secretBox' | 'config'> & { userData: UserDataSteps };

/** What a request names a user by: exactly one of them. */
type NamedUser = { pub_user_id?: string | number; ad_fp?: string | number };

/** What is asked for a user: by the API and by the dashboard (docs/interface.md#privacy). */
export type PrivacyDesk = {
  /** @throws AppError invalid_request unless exactly one identifier is given */
  subjectOf: (publisherId: number, named: NamedUser) => UserSubject;
  /** All personal data of the user, as they are kept, and `complete`: whether these are all. */
  read: (work: Pick<Work, 'executor' | 'nowMs'>, subject: UserSubject) => Promise<Record<string, unknown>>;
  /** The same, for the person: the audit log tells that it was exported, and not whose. */
  export: (work: Work, subject: UserSubject) => Promise<Record<string, unknown>>;
  /** Asks a worker to erase the user. */
  erase: (work: Work, subject: UserSubject) => Promise<Erasure>;
};

/** Sessions of one export, and deliveries of it (count each); with more, the export says that it is cut. */
const maxSessions = 2000;

export function createDesk({ secretBox, config, userData }: DeskDeps): PrivacyDesk {
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);

  async function read(executor: Executor, subject: UserSubject, now: Date): Promise<Record<string, unknown>> {
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
    for (const [name, rowsOf] of Object.entries(userData.exports)) exported[name] = await rowsOf(executor, scope);
    return exported;
  }

  return {
    subjectOf: (publisherId, named) => {
      const [pubUserId, adFp] = [textOrNull(named.pub_user_id), textOrNull(named.ad_fp)];
      const identifier = pubUserId ?? adFp;
      if (identifier === null || (pubUserId !== null && adFp !== null))
        throw new AppError('invalid_request', {
          details: [{ path: '/', message: 'must name the user by pub_user_id or by ad_fp' }],
        });
      const namedBy = pubUserId === null ? 'ad_fp' : 'pub_user_id';
      const keys = userKeys.allOf(publisherId, identifier);
      return { publisherId, namedBy, identifier, userKey: userKeys.of(publisherId, identifier), userKeys: keys };
    },
    read: ({ executor, nowMs }, subject) => read(executor, subject, new Date(nowMs)),
    export: async (work, subject) => {
      const data = await read(work.executor, subject, new Date(work.nowMs));
      await note(work, 'exports', newUuid7(work.nowMs), subject.namedBy);
      return data;
    },
    erase: async (work, { identifier, userKeys: _all, ...named }) => {
      const erasure = await insertErasure(work.executor, {
        ...{ ...named, id: newUuid7(work.nowMs), requestedAt: new Date(work.nowMs) },
        subjectSealed: sealSubject(secretBox, identifier),
      });
      await note(work, 'erasures', erasure.id, named.namedBy);
      return erasure;
    },
  };
}

/** Who did it and when; the audit log never learns the identifier. */
const note = (work: Work, name: 'exports' | 'erasures', id: string, namedBy: IdentifierKind): Promise<void> =>
  audit(work, { resource: { name, key: 'id' }, action: 'create', before: null, after: { id, named_by: namedBy } });
