import type { Catalog } from '../catalog/module.ts';
import type { CatalogAdmin } from '../catalog-admin/module.ts';
import type { Proposal } from '../management/approval.ts';
import type { ManagementHttp } from '../management/http.ts';
import type { ManagementClient } from '../management/page-client.ts';
import type { Actor, Work } from '../management/unit-of-work.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import type { App } from '../platform/http/app.ts';
import type { Job } from '../platform/jobs.ts';
import type { Platform } from '../platform/module.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import type { Webhooks } from '../webhooks/module.ts';
import { draftCommands } from './commands.ts';
import { goLiveAtItsTime, withdraw } from './decide.ts';
import { deleteOldDrafts, deleteOldImages } from './draft.ts';
import { sendDraftMails } from './mails.ts';
import { draftPages } from './pages/drafts.ts';
import { propose } from './propose.ts';
import { draftRoutes } from './routes.ts';
import { countNewDecisions, type DraftReader, listNewDecisions, markSeen } from './seen.ts';

export type Drafts = ReturnType<typeof createDrafts>;

type DraftsDeps = { platform: Platform; catalog: Catalog; catalogAdmin: CatalogAdmin; webhooks: Webhooks };

/** Creates the drafts module: proposed changes to offers and campaigns, which go live once they are approved. */
export function createDrafts({ platform, catalog, catalogAdmin }: DraftsDeps) {
  const { pool, dbHealth, mailer, config, now } = platform.deps;
  const { kinds } = catalogAdmin;
  const { management } = catalog;
  const schedule: Job = {
    name: 'scheduled drafts',
    roles: ['worker'],
    pauseMs: 1000,
    locks: 'one row of drafts, then the row that it changes; as a change in the dashboard does',
    run: async () => {
      for (const { id, publisher_id } of await dueDrafts())
        await management.write(scheduler, publisher_id, (work) => goLiveAtItsTime(kinds, work, id));
    },
  };
  const mails: Job = {
    name: 'draft mails',
    roles: ['worker'],
    pauseMs: 1000,
    locks: 'a lease on the mail (skip locked)',
    run: () => sendDraftMails({ pool, mailer, now, config }),
  };
  async function dueDrafts(): Promise<{ id: number; publisher_id: number }[]> {
    const { rows } = await pool.query<{ id: number; publisher_id: number }>(
      "select id, publisher_id from drafts where state = 'scheduled' and live_at <= $1 order by live_at, id limit 100",
      [new Date(now())],
    );
    return rows;
  }
  const countWaiting = async (publisherId: number): Promise<number> => {
    const { rows } = await pool.query<{ count: number }>(
      `select count(*)::integer as count from (
        select from drafts where publisher_id = $1 and state = 'waiting' limit 100) waiting`,
      [publisherId],
    );
    return rows[0]?.count ?? 0;
  };
  const entry: NavEntry = {
    group: 'offers',
    rank: 15,
    key: 'drafts',
    text: 'nav.drafts',
    words: 'navWords.drafts',
    path: '/drafts',
    icon: 'drafts',
    role: 'analyst',
    count: async (publisherId, userId) => {
      if (!dbHealth.isUp()) return 0;
      const counts = [countWaiting(publisherId), countNewDecisions(pool, { publisherId, userId }, now())];
      const [waiting = 0, decided = 0] = await Promise.all(counts.map((count) => count.catch(() => 0)));
      return waiting + decided;
    },
    countText: 'drafts.attentionCount',
  };
  return {
    name: 'drafts',
    rank: 90,
    commands: draftCommands,
    kinds,
    navigation: [entry],
    retention,
    /** Creates a draft from a dashboard change that requires approval. */
    propose: (work: Work, proposal: Proposal, advertiserId: number | null = null) =>
      propose(kinds, work, proposal, advertiserId),
    withdraw,
    routes: async (app: App, { http }: { http: ManagementHttp }) =>
      void (await app.register(draftRoutes, { http, kinds })),
    pages: (app: App, shell: Shell, contributions: { management: ManagementClient }) =>
      draftPages(app, {
        ...shell,
        management: contributions.management,
        kinds,
        catalog: catalog.store,
        markSeen: async (reader, draftIds) => (dbHealth.isUp() ? markSeen(pool, reader, draftIds, now()) : null),
        listNewDecisions: async (reader) => (dbHealth.isUp() ? listNewDecisions(pool, reader, now()) : []),
      }),
    jobs: () => [schedule, mails],
    /** Returns the number of decisions that a user of an advertiser account has not seen. */
    countNewDecisions: (reader: DraftReader): Promise<number> =>
      dbHealth.isUp() ? countNewDecisions(pool, reader, now()).catch(() => 0) : Promise.resolve(0),
    markSeen: (reader: DraftReader, draftIds: readonly number[]) => markSeen(pool, reader, draftIds, now()),
  };
}

const scheduler: Actor = {
  kind: 'system',
  id: 0,
  label: 'schedule',
  permissions: new Set<string>(),
  expiresAtMs: null,
  ratePerS: null,
  restrictions: null,
  publisherId: null,
};

const retention: RetentionStep = async (pool, _days, nowMs) => ({
  draft_pictures: await deleteOldImages(pool, nowMs),
  drafts: await deleteOldDrafts(pool, nowMs),
});
