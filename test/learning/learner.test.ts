import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { packModel } from '../../src/learning/model/codec.ts';
import { agedFeature } from '../../src/learning/model/rates.ts';
import { createModel, type Model } from '../../src/learning/model.ts';
import { readProgress, writeProgress } from '../../src/learning/progress.ts';
import { createLearner, type Learner } from '../../src/learning/reading/learner.ts';
import { createModelSource } from '../../src/learning/source.ts';
import { loadVersion, newestVersion } from '../../src/learning/versions.ts';
import { hourMs, minuteMs } from '../../src/platform/lib/time.ts';
import { continueRestoredRollups } from '../../src/reports/restored.ts';
import { rollUpAll } from '../reports/support.ts';
import { moveAhead } from '../support/restored.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';
import { call } from '../tracking/journey.ts';

let t: TestApp;
/** Moves the clock to ten minutes after the full hour, so that no hour ends during the tests. */
const aheadMs = 10 * minuteMs - (Date.now() % hourMs);
const now = (): number => Date.now() + aheadMs;
beforeAll(async () => {
  t = await createTestApp({ now });
});
afterAll(() => t.close());

/**
 * Learners of the running test. Their clocks are two minutes ahead, so that all impressions are old enough to be
 * counted.
 */
const learners: Learner[] = [];
const aheadOfEvents = (): number => now() + 2 * minuteMs;
function startLearner(over: Partial<Parameters<typeof createLearner>[0]> = {}): () => ReturnType<Learner['learn']> {
  const learner = createLearner({ ...t.deps, now: aheadOfEvents, ...over });
  learners.push(learner);
  return learner.learn;
}
afterEach(async () => {
  for (const learner of learners.splice(0)) await learner.stop();
});

const clickSql = `insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
  select day, session_id, offer_id, 'click', publisher_id, campaign_id, position, at + interval '3 seconds'
  from events where session_id = $1 and position = $2`;

let users = 0;
/** Fetches offers for new users. Some offers are seen, and some of these are clicked. */
async function visit(rounds: number): Promise<void> {
  for (let at = 0; at < rounds; at++) {
    const answer = await t.app.inject({
      method: 'POST',
      url: '/native/v4/offers.json?api_key=demo-key',
      payload: { placement: 'checkout', plan: ['gold', 'free'][at % 2], pub_user_id: `user ${++users}` },
    });
    const { session_id, offers } = answer.json().data as { session_id: string; offers: { pixel: string }[] };
    for (const { pixel } of offers) await call(t, pixel);
    // The click is inserted directly, because a click this soon after its impression would not count.
    if (at % 3 === 0) await t.pool.query(clickSql, [session_id, 1 + ((at / 3) % 2)]);
  }
}

async function rawCounts(): Promise<{ impressions: number; clicks: number }> {
  const { rows } = await t.pool.query(
    `select count(*) filter (where kind = 'impression')::int as impressions,
      count(*) filter (where kind = 'click')::int as clicks
    from events where suspicious is null`,
  );
  return rows[0];
}

/** Returns the number of clicks and impressions that the newest version was learned from. */
async function learnedCounts(): Promise<{ impressions: number; clicks: number }> {
  const model = await loadVersion(t.pool, await newestVersion(t.pool));
  if (model === null) throw new Error('no model');
  const { indexOf, slots, first, second } = model.click.rates;
  const counts = { impressions: 0, clicks: 0 };
  for (const slot of slots[indexOf.get(agedFeature) ?? -1]?.values() ?? []) {
    counts.clicks += first[slot] as number;
    counts.impressions += second[slot] as number;
  }
  return counts;
}

/** Runs learners until no rows are left. This polls, because another test's transaction may stay open for a while. */
async function learnAll(...running: (() => Promise<unknown>)[]): Promise<void> {
  await expect
    .poll(async () => {
      await Promise.all(running.map((learn) => learn()));
      return learnedCounts();
    })
    .toEqual(await rawCounts());
}

test('elects one leader, and replaces it when it stops or loses its heartbeat', async () => {
  const [first, other] = [createLearner({ ...t.deps, now: aheadOfEvents }), startLearner()];
  await visit(6);
  await learnAll(first.learn);
  expect(await other()).toBeNull();
  await visit(3);
  await learnAll(first.learn, other);
  await first.stop();
  await visit(3);
  await learnAll(other);
  // Simulate a leader that has been silent for a minute.
  const progress = await readProgress(t.pool);
  await writeProgress(t.pool, { ...progress, lead: { id: 'silent', atMs: Date.now() - minuteMs } });
  const later = startLearner();
  await visit(3);
  await learnAll(later);
  expect(await other()).toBeNull();
});

test('learns from each event exactly once, even if the learner is killed while it stores a version', async () => {
  const learn = startLearner();
  await learnAll(learn);
  await t.pool.query(`create function fail() returns trigger language plpgsql as
    $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`);
  await t.pool.query('create trigger fail after insert on ranking_versions for each row execute function fail()');
  await expect
    .poll(
      async () => {
        await visit(1);
        return learn().then(
          () => 'learned',
          () => 'killed',
        );
      },
      { timeout: timeLimit(60_000) },
    )
    .toBe('killed');
  await t.pool.query('drop function fail cascade');
  await learnAll(learn);
  await visit(3);
  await learnAll(learn);
});

test('counts each request once by hour of the week, and publishes an hour when it is over', async () => {
  const learn = startLearner();
  await learnAll(learn);
  const requests = async (): Promise<number> => {
    const model = await loadVersion(t.pool, await newestVersion(t.pool));
    return [...(model?.traffic.first ?? [])].reduce((sum, count) => sum + count, 0);
  };
  const before = await requests();
  await visit(1);
  await learnAll(learn);
  expect(await requests()).toBe(before);
  const { rows } = await t.pool.query<{ all: number }>('select count(*)::integer as all from sessions where not dev');
  // Simulate that an hour has passed since all previous requests.
  await t.pool.query(
    `update ranking_progress set progress = jsonb_set(progress::jsonb, '{traffic}', (
      select jsonb_object_agg(key, jsonb_build_array((value ->> 0)::integer - 1, value -> 1))
      from jsonb_each(progress::jsonb -> 'traffic')))`,
  );
  await visit(1);
  await expect.poll(() => learn().then(requests)).toBe(before + (rows[0]?.all ?? 0));
  await learn();
  expect(await requests()).toBe(before + (rows[0]?.all ?? 0));
});

/** Uses up a number of transaction IDs. */
const passTransactions = (count: number) =>
  t.pool.query(`do $$ begin for at in 1..${count} loop perform pg_current_xact_id(); commit; end loop; end $$`);

test('learns a burst of rows after an idle period in several steps', async () => {
  const learn = startLearner();
  await learnAll(learn);
  await visit(1);
  const { rows: sessions } = await t.pool.query('select id, day::text from sessions order by created_at desc limit 1');
  const { id, day } = sessions[0];
  await passTransactions(200_000);
  await t.pool.query(
    `do $$ begin for at in 1..60 loop
      insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
      select '${day}', '${id}', 1000000 + 200 * at + n, 'impression', 1, 1, 1, now() from generate_series(1, 200) n;
      commit;
      for n in 1..1000 loop perform pg_current_xact_id(); commit; end loop;
    end loop; end $$`,
  );
  // Repeat until all rows are read: transactions of other tests delay the point up to which rows are read.
  for (let rows = 0; rows < 12_000; ) {
    const rowCount = (await learn())?.rows ?? 0;
    expect(rowCount).toBeLessThan(8000);
    rows += rowCount;
  }
  await t.pool.query('delete from events where offer_id > 1000000');
});

test('continues to learn after a restore that resets transaction IDs', async () => {
  const learn = startLearner();
  await learnAll(learn);
  await rollUpAll(t);
  await moveAhead(t.pool);
  const { xid, marks, ...progress } = await readProgress(t.pool);
  const ahead = (id: string): string => String(BigInt(id) + 1_000_000_000n);
  await writeProgress(t.pool, { ...progress, xid: ahead(xid), marks: marks.map(([atMs, id]) => [atMs, ahead(id)]) });
  await continueRestoredRollups(t.databaseUrl);
  await learn();
  await visit(3);
  await learnAll(learn);
  expect((await readProgress(t.pool)).marks.every(([, xid]) => BigInt(xid) < 1_000_000_000n)).toBe(true);
});

test('skips an offer that is deleted during learning and continues with all others', async () => {
  await visit(2);
  const { rows } = await t.pool.query('select offer_id from events order by at desc limit 1');
  const catalog = {
    readyAll: async () => {},
    current: () => {
      const snapshot = t.deps.catalog.current();
      return { ...snapshot, offers: new Map([...snapshot.offers].filter(([id]) => id !== rows[0].offer_id)) };
    },
  };
  const before = await newestVersion(t.pool);
  const learn = startLearner({ catalog });
  await expect.poll(() => learn().then(() => newestVersion(t.pool))).toBeGreaterThan(before);
});

test('does not reload a full version in processes that already have the previous version', async () => {
  // Set the version so that the next learner's first version is two before a whole one.
  const whole = 1_000_000_000 + 10_000 * 256;
  await t.pool.query(
    'update ranking_versions set version = version + $1 - (select max(version) from ranking_versions)',
    [whole - 257 - 2],
  );
  const learn = startLearner();
  await visit(2);
  await expect.poll(() => learn().then(() => newestVersion(t.pool))).toBe(whole - 2);
  const source = createModelSource(t.deps);
  await source.refresh();
  await visit(2);
  await expect.poll(() => learn().then(() => newestVersion(t.pool))).toBe(whole);
  const { rows } = await t.pool.query(
    'select version::int, is_full from ranking_versions where version >= $1 order by version',
    [whole - 1],
  );
  expect(rows).toEqual([
    { version: whole - 1, is_full: false },
    { version: whole, is_full: true },
  ]);
  const setBody = (body: unknown) =>
    t.pool.query('update ranking_versions set body = $1 where version = $2', [body, whole]);
  const { rows: stored } = await t.pool.query('select body from ranking_versions where version = $1', [whole]);
  await setBody('broken');
  await source.refresh();
  await setBody(stored[0].body);
  expect([source.current().version, source.isBroken()]).toEqual([whole, false]);
  const numbersOf = (model: Model | null) => model?.click.rates.first.slice(0, model.click.rates.size).sort();
  expect(numbersOf(source.current())).toEqual(numbersOf(await loadVersion(t.pool, whole)));
});

test('applies a version that arrives during a refresh without reloading a full version', async () => {
  const insertNext = async (): Promise<void> => {
    await t.pool.query(`insert into ranking_versions select max(version) + 1, false,
      (select body from ranking_versions where not is_full order by version desc limit 1), now()
      from ranking_versions`);
  };
  const statements: string[] = [];
  const query = async (statement: string | { name: string }, values?: unknown[]) => {
    const name = typeof statement === 'string' ? statement : statement.name;
    statements.push(name);
    if (name === 'model_versions_after') await insertNext();
    return t.pool.query(statement as string, values);
  };
  const pool = { query } as unknown as TestApp['pool'];
  const source = createModelSource({ ...t.deps, pool });
  await source.refresh();
  await insertNext();
  statements.length = 0;
  await source.refresh();
  expect(source.current().version).toBe(await newestVersion(t.pool));
  expect(statements).toEqual(['newest_model_version', 'model_versions_after']);
});

test('keeps the last valid version until the next full one if a version is broken or missing', async () => {
  const source = createModelSource(t.deps);
  await source.refresh();
  const good = source.current().version;
  expect(good).toBe(await newestVersion(t.pool));
  await t.pool.query("insert into ranking_versions values ($1, false, 'broken', now())", [good + 1]);
  await source.refresh();
  expect([source.current().version, source.isBroken()]).toEqual([good, true]);
  await t.pool.query('delete from ranking_versions where version = $1', [good + 1]);
  await t.pool.query(
    `insert into ranking_versions select $1, true, body, now() from ranking_versions
    where is_full order by version limit 1`,
    [good + 2],
  );
  await source.refresh();
  expect([source.current().version, source.isBroken()]).toEqual([good + 2, false]);
});

test('learns from stored rows at first start and replaces the model of an earlier release', async () => {
  await t.pool.query('truncate ranking_versions, ranking_progress');
  const model = createModel();
  model.sales.set(1, { micros: 5_000_000, count: 1 });
  model.click.isLogistic = false;
  await t.pool.query('insert into model_versions values (7, true, $1, now())', [await packModel(model)]);
  const { rows } = await t.pool.query('select pg_current_xact_id()::text as xid');
  const progress = { click: [rows[0].xid], marks: [], traffic: {} };
  await t.pool.query('update learning_progress set progress = $1', [progress]);
  const source = createModelSource(t.deps);
  await source.refresh();
  expect([source.current().version, source.current().click.isLogistic]).toEqual([7, false]);

  const learn = startLearner();
  await learnAll(learn);
  await source.refresh();
  expect(source.current().version).toBeGreaterThan(1_000_000_000);
  expect(source.current().click.isLogistic).toBe(true);
  expect(source.current().sales).toEqual(model.sales);
  // Simulate a rollback.
  const { rows: remaining } = await t.pool.query(
    'select version::int, progress from model_versions, learning_progress',
  );
  expect(remaining).toEqual([{ version: 7, progress }]);
});
