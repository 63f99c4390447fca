import type { App } from '../../src/platform/http/app.ts';
import { createPublisher } from '../catalogue.ts';
import type { BudgetStage } from './budget-stage.ts';
import type { BudgetWorld } from './budget-world.ts';
import { uniforms } from './world.ts';

/** Result of a simulated world. Amounts are in the payout currency, or counts if the campaign has no budget. */
export type BudgetVerdict = {
  limit: number;
  booked: number;
  unbilled: number;
  impressions: number;
  /** Number of impressions in the first 30 seconds. */
  shownFirst: number;
  /** Longest time without an impression although the budget had room and users came, in seconds. */
  silenceS: number;
  /** Time at which 99% of the limit was booked, in seconds, or null if that never happened. */
  bookedAtS: number | null;
  /** Largest deviation from the plan at the end of any hour, as a fraction of the limit. Null without a plan. */
  offPlan: number | null;
  /** Number of times `campaign.budget_reached` was raised too early. */
  falseEvents: number;
};

type ShownOffer = { pixel: string; click_url: string; campaign_id: number };
type Event = (seconds: number) => Promise<void>;

const browser = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/130.0.0.0 Safari/537.36' };

/** Creates the users of a world with their later events, on the simulated clock. */
function createUsers(world: BudgetWorld, campaignId: number, seed: number) {
  const u = uniforms(seed);
  const later = new Map<number, Event[]>();
  let users = 0;
  const at = (seconds: number, event: Event): void => {
    const step = Math.ceil(seconds / world.stepS) * world.stepS;
    const list = later.get(step);
    if (list === undefined) later.set(step, [event]);
    else list.push(event);
  };
  const get = (app: App, url: string) =>
    app.inject({ method: 'GET', url: url.replace('http://perks.test', ''), headers: browser });

  /** @returns whether the response contained the campaign */
  async function ask(app: App, second: number): Promise<boolean> {
    const user = users++;
    const answer = await app.inject({
      method: 'POST',
      url: '/native/v4/offers.json?api_key=bench',
      payload: { placement: 'checkout', pub_user_id: `user-${user}` },
      headers: browser,
    });
    const [offer] = (answer.json() as { data: { offers: ShownOffer[] } }).data.offers;
    if (offer?.campaign_id !== campaignId) return false;
    at(second + Math.max(1, world.stepS), async () => void (await get(app, offer.pixel)));
    if (u(1, user) >= world.clickRate) return true;
    const clickedS = second + world.stepS + Math.max(2, world.clickDelayS(u(2, user)));
    at(clickedS, async () => {
      const landing = String((await get(app, offer.click_url)).headers.location);
      if (u(3, user) >= world.conversionRate) return;
      const clickId = new URL(landing).searchParams.get('click_id') ?? '';
      at(clickedS + world.conversionDelayS(u(4, user)), async () => {
        await get(app, `/track?click_id=${encodeURIComponent(clickId)}&event=purchase`);
      });
    });
    return true;
  }
  return {
    ask,
    /** Runs the events that are due in this second. */
    due: async (second: number): Promise<void> => {
      const events = later.get(second) ?? [];
      later.delete(second);
      await Promise.all(events.map((event) => event(second)));
    },
    draw: (second: number): number => Math.floor(world.asks(second) * world.stepS + u(5, second)),
  };
}

/** Creates the campaign of a world, and a low-paying campaign that is always available. */
async function prepare({ pool, refreshCatalog }: BudgetStage, world: BudgetWorld, startMs: number): Promise<number> {
  const publisherId = await createPublisher(pool, { key: 'bench', campaigns: 2 });
  await pool.query("update publishers set offers_per_response = 1, time_zone = 'UTC' where id = $1", [publisherId]);
  const other = world.goal === undefined ? 0.01 : 10;
  await pool.query("update campaigns set payout_kind = 'cpm', payout_amount = $2 where publisher_id = $1", [
    publisherId,
    other,
  ]);
  const { rows } = await pool.query<{ id: number }>(
    `update campaigns set payout_kind = $2, payout_amount = $3, rules = $4, goal = $5, goal_since = $6,
      activated_at = $6, updated_at = $6
    where id = (select min(id) from campaigns where publisher_id = $1) returning id`,
    [
      ...[publisherId, world.payout.kind, world.payout.amount, world.rules(startMs)],
      ...[world.goal?.(startMs) ?? null, new Date(startMs)],
    ],
  );
  await refreshCatalog();
  return rows[0]?.id as number;
}

/** Reads the booked part of the limit and the unbilled amount from the campaign usage. */
async function readUse({ pool }: BudgetStage, campaignId: number, metric: string) {
  const { rows } = await pool.query<{ spent: number; counted: number; clicks: number; unbilled: number }>(
    `select spent_micros / 1e6::float8 as spent, counted_impressions::float8 as counted, clicks::float8 as clicks,
      unbilled_micros / 1e6::float8 as unbilled
    from campaign_usage where campaign_id = $1 and publisher_id = 0 and period = 'lifetime'`,
    [campaignId],
  );
  const { spent = 0, counted = 0, clicks = 0, unbilled = 0 } = rows[0] ?? {};
  return { booked: metric === 'budget' ? spent : metric === 'clicks' ? clicks : counted, unbilled };
}

/** Returns the amount booked in events and bookings, independent of the campaign usage. */
async function readLedger({ pool }: BudgetStage, campaignId: number): Promise<number> {
  const { rows } = await pool.query<{ booked: number }>(
    `select ((select coalesce(sum(revenue_micros), 0) from events where campaign_id = $1)
      + (select coalesce(sum(revenue_micros), 0) from bookings where campaign_id = $1))::float8 / 1e6 as booked`,
    [campaignId],
  );
  return rows[0]?.booked ?? 0;
}

/** Time for which a spent budget is watched for late events, in seconds. */
const aftermathS = 150;

/** Simulates a world to its end, advancing `clock.nowMs`. */
export async function playBudget(
  stage: BudgetStage,
  world: BudgetWorld,
  { clock, seed }: { clock: { nowMs: number }; seed: number },
): Promise<BudgetVerdict> {
  const startMs = clock.nowMs;
  const campaignId = await prepare(stage, world, startMs);
  const users = createUsers(world, campaignId, seed);
  const [cap] = world.rules(startMs).total_caps ?? [];
  const goal = world.goal?.(startMs) as { count: number; metric: string } | undefined;
  const metric = cap?.metric ?? goal?.metric ?? 'budget';
  const limit = cap?.limit ?? goal?.count ?? 0;
  const verdict: Omit<BudgetVerdict, 'offPlan'> = {
    limit,
    booked: 0,
    unbilled: 0,
    impressions: 0,
    shownFirst: 0,
    silenceS: 0,
    bookedAtS: null,
    falseEvents: 0,
  };
  let [lastShownS, offPlan, usedBefore] = [0, 0, 0];
  const days = Math.floor(world.seconds / 86_400);
  for (let second = 0; second < world.seconds; second += world.stepS) {
    const isOver = world.plan === undefined && verdict.bookedAtS !== null && second > verdict.bookedAtS + aftermathS;
    if (isOver) break;
    clock.nowMs = startMs + second * 1000;
    await users.due(second);
    await stage.run('reservation release', 'slices of totals', 'campaign usage');
    if (second % 2 === 0) await stage.run('learning', 'ranking model');
    const asking = users.draw(second);
    const answers = await Promise.all(
      Array.from({ length: asking }, (_, at) => users.ask(stage.apps[at % world.processes] as App, second)),
    );
    const count = answers.filter(Boolean).length;
    verdict.impressions += count;
    if (second < 30) verdict.shownFirst += count;
    const use = await readUse(stage, campaignId, metric);
    const isOpen = use.booked < 0.99 * limit;
    if (!isOpen && verdict.bookedAtS === null) verdict.bookedAtS = second;
    if (count > 0 || asking === 0 || !isOpen) lastShownS = second;
    else verdict.silenceS = Math.max(verdict.silenceS, second - lastShownS);
    if (world.plan !== undefined && second % 3600 < world.stepS) {
      if (world.plannedFromS !== undefined && second % 86_400 < world.stepS) usedBefore = use.booked;
      const planned = Math.min(1, world.plan(second) / 0.99);
      if (second >= (world.plannedFromS ?? 1))
        offPlan = Math.max(offPlan, Math.abs((use.booked - usedBefore) / limit - planned));
    }
    if (metric === 'budget' && second % 60 < world.stepS) {
      await stage.raiseEvents();
      const { rowCount } = await stage.pool.query(
        "select from operational_events where event = 'campaign.budget_reached'",
      );
      if ((rowCount ?? 0) > 0 && use.booked < limit) verdict.falseEvents += 1;
    }
  }
  const use = await readUse(stage, campaignId, metric);
  const booked = metric === 'budget' ? await readLedger(stage, campaignId) : use.booked / Math.max(1, days);
  return { ...verdict, booked, unbilled: use.unbilled, offPlan: world.plan === undefined ? null : offPlan };
}
