import type { Accounts } from '../accounts/room.ts';
import type { Catalog } from '../catalog/room.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import type { Job } from '../platform/jobs.ts';
import { dayMs } from '../platform/lib/time.ts';
import { firstUuid7After } from '../platform/lib/uuid7.ts';
import type { App } from '../platform/ports.ts';
import type { Platform } from '../platform/room.ts';
import { createSigner } from '../platform/security/tracking-token.ts';
import type { EraseOfUser, EraseWithSessions, ExportRows } from '../platform/user-data.ts';
import { createAddressKeys, createMessageOutbox } from './outbox.ts';
import { messageRoutes } from './routes.ts';
import { sendDueMessages } from './send.ts';
import { createUnsubscribeTokens } from './unsubscribe-links.ts';
import { unsubscribeRoutes } from './unsubscribe-routes.ts';

export type Messages = ReturnType<typeof createMessages>;

type Needs = { platform: Platform; catalog: Catalog; accounts: Accounts };

/** E-mails to users with the perks that they confirmed, where they asked for it. */
export function createMessages({ platform, catalog, accounts }: Needs) {
  const { deps } = platform;
  const unsubscribeTokens = createUnsubscribeTokens(createSigner(deps.config.tokenKeys, 'message-unsubscribe'));
  const sendDeps = { ...deps, addressKeys: createAddressKeys(deps.config), unsubscribeTokens };
  const sending: Job = {
    name: 'perk messages',
    roles: ['worker'],
    pauseMs: 1000,
    locks: 'a lease on the message (skip locked)',
    run: () => sendDueMessages(sendDeps),
  };
  return {
    name: 'messages',
    outbox: createMessageOutbox(deps),
    retention,
    userData: {
      eraseWithSessions,
      eraseOfUser: [eraseOfUser],
      exports: { perk_messages: exportMessages },
    },
    routes: async (app: App) => {
      await app.register(messageRoutes, catalog.managementHttp(accounts.auth));
      await app.register(unsubscribeRoutes, sendDeps);
    },
    jobs: () => [sending],
  };
}

/** The log is kept as long as that of webhooks. */
const retention: RetentionStep = async (pool, { retentionDeliveryDays }, nowMs) => {
  const { rowCount } = await pool.query('delete from perk_messages where created_at < $1', [
    new Date(nowMs - retentionDeliveryDays * dayMs),
  ]);
  return { perkMessages: rowCount ?? 0 };
};

/** What is not sent yet is never sent. */
const eraseOfUser: EraseOfUser = async (pool, { subject, until }, onErased) => {
  await pool.query('delete from perk_messages where user_key = any($1::uuid[]) and session_id < $2::uuid', [
    subject.userKeys,
    firstUuid7After(until),
  ]);
  await onErased({});
};

const eraseWithSessions: EraseWithSessions = async (executor, sessions) => {
  await executor.query('delete from perk_messages where user_key = any($1::uuid[]) and session_id = any($2::uuid[])', [
    [...new Set(sessions.flatMap(({ pubUserKeys }) => pubUserKeys))],
    sessions.map(({ id }) => id),
  ]);
  return {};
};

const exportMessages: ExportRows = async (executor, { subject, pubUserKeys, sessionIds }) => {
  const { rows } = await executor.query(
    `select id, session_id, state, created_at, finished_at from perk_messages
    where user_key = any($1::uuid[]) and (not $3 or session_id = any($2::uuid[])) order by id`,
    [pubUserKeys, sessionIds, subject.namedBy === 'ad_fp'],
  );
  return rows;
};
