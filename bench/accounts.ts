import { loadavg } from 'node:os';
import { storeKnownKey } from '../src/accounts/keys.ts';
import { hashPassword } from '../src/accounts/passwords.ts';
import { startSession } from '../src/accounts/sessions.ts';
import { findByEmail } from '../src/accounts/users.ts';
import { startServerProcess } from '../test/support/server-process.ts';
import { createPublisher } from './catalogue.ts';
import { cpuUseSince, type Processor, readProcessor } from './processor.ts';
import { writeTable } from './report.ts';
import { type Stage, seedAndAsk } from './stage.ts';

/*
 * Benchmarks sign-in, the publisher switcher, the user list and the draft list with many users, publishers and drafts.
 * npm run bench:accounts                       runs the complete benchmark
 * npm run bench:accounts -- seed FOLDER        only seeds the database, which stays in the folder
 * npm run bench:accounts -- ask FOLDER [COUNT] sends COUNT requests to each page (default: 40)
 */
const [command, folder, requestedCalls] = process.argv.slice(2);
const [people, publishers, drafts, campaigns] = [10_000, 1000, 5000, 1000];
const calls = Number(requestedCalls ?? 40);
const limitMs = 150;
const key = 'bench-accounts';
const password = 'seven quiet otters';

/** A user who is a member of every publisher, an operator, and an advertiser account. */
const [everywhere, operator, advertiser] = ['everywhere@example.com', 'operator@example.com', 'advertiser@example.com'];

async function seed({ pool }: Stage): Promise<void> {
  const publisherId = await createPublisher(pool, { key, campaigns });
  await storeKnownKey(pool, { publisherId, name: 'approval', key: `${key}-2`, permissions: ['offers/approval'] });
  await pool.query(
    `insert into publishers (name, sdk_id)
    select 'Publisher ' || n, substr(md5('bench' || n), 1, 16) from generate_series(2, $1) n`,
    [publishers],
  );
  // A password check takes 250 ms by design. A cheaper hash keeps this cost out of the other measurements.
  const passwordHash = await hashPassword(password, { cost: { logN: 4, r: 8, p: 1 } });
  await pool.query(
    `insert into users (email, password_hash, created_at) select 'person-' || n || '@example.com', $2, now()
    from generate_series(1, $1) n union all select email, $2, now() from unnest($3::text[]) email`,
    [people, passwordHash, [everywhere, operator, advertiser]],
  );
  // Each user belongs to three publishers. One user in ten belongs to the publisher that has the drafts.
  await pool.query(
    `insert into memberships (user_id, publisher_id, role, created_at, joined_at)
    select u.id, p.id, (array['analyst', 'manager', 'admin'])[1 + u.id % 3], now(), now()
    from users u join publishers p on p.id % $1 in (u.id % $1, (u.id * 7) % $1, (u.id * 13) % $1)
      or (p.id = $4 and u.id % 10 = 0) or u.email = $2
    where u.email <> all($3) on conflict do nothing`,
    [publishers, everywhere, [operator, advertiser], publisherId],
  );
  await pool.query(`update memberships set role = 'admin' where user_id = (select id from users where email = $1)`, [
    everywhere,
  ]);
  await pool.query(
    `insert into memberships (user_id, role, advertiser_id, created_at, joined_at)
    select id, 'operator', null, now(), now() from users where email = $1
    union all select id, 'advertiser', (select min(id) from advertisers), now(), now() from users where email = $2`,
    [operator, advertiser],
  );
  await pool.query(
    `insert into user_sessions (token_hash, user_id, created_at, last_seen_at, expires_at, device, network)
    select sha256(convert_to(email, 'UTF8')), id, now(), now(), now() + interval '7 days', 'Bench', '127.0.0.0/24'
    from users`,
  );
  await pool.query(
    `insert into drafts (publisher_id, campaign_id, advertiser_id, resource, row_id, subject, changes, base, note,
      state, proposer_kind, proposer_id, proposed_by, created_at, updated_at)
    select $1, o.campaign_id, c.advertiser_id, 'offers', o.id, 'Headline ' || n,
      jsonb_build_object('title', 'Headline ' || n), jsonb_build_object('title', o.title), '', 'waiting', 'user', n,
      'person-' || n || '@example.com', now() - n * interval '1 minute', now()
    from generate_series(1, $2) n
    join (select *, row_number() over (order by id) as at from offers where publisher_id = $1) o on o.at = 1 + n % $3
    join campaigns c on c.id = o.campaign_id`,
    [publisherId, drafts, campaigns],
  );
  await pool.query('analyze');
}

type PageCall = { name: string; cookie?: string; path: (call: number) => string; form?: (call: number) => object };

async function ask({ pool, databaseUrl }: Stage): Promise<void> {
  const cookieOf = async (email: string): Promise<string> => {
    const nowMs = Date.now();
    const account = await findByEmail(pool, email);
    const client = { device: 'Bench', network: '127.0.0.0/24', country: null };
    const userId = account?.user.id ?? 0;
    return `perkwire_session=${await startSession(pool, { userId, client, previous: null, nowMs })}`;
  };
  const [member, all, outside] = [await cookieOf(everywhere), await cookieOf(operator), await cookieOf(advertiser)];
  const idsOf = async (text: string): Promise<number[]> =>
    (await pool.query<{ id: number }>(text, [calls])).rows.map(({ id }) => id);
  const ids = await idsOf('select id from publishers order by id limit $1');
  const waiting = await idsOf("select id from drafts where state = 'waiting' order by id limit $1");
  const [first = 1] = ids;
  const page = (publisherId: number, rest: string): string => `/dashboard/p/${publisherId}${rest}`;
  const own = `/dashboard/a/${(await idsOf('select min(id) as id from advertisers limit $1'))[0]}`;
  const server = await startServerProcess({ databaseUrl });
  const processor = () => readProcessor(pool, server.child.pid as number);
  const pageCalls: PageCall[] = [
    { name: 'Sign-in page', path: () => '/dashboard/sign-in' },
    {
      name: 'Sign-in by password, without hashing',
      path: () => '/dashboard/sign-in',
      form: (call) => ({ email: `person-${call + 1}@example.com`, password, next: '' }),
    },
    { name: 'Account page of a member of all publishers', cookie: member, path: () => '/dashboard/account' },
    {
      name: 'Switch to another publisher',
      cookie: member,
      path: (call) => page(ids[call % ids.length] ?? first, '/settings/users'),
    },
    { name: 'Publisher switcher, all', cookie: member, path: () => page(first, '/find?only=publishers&q=') },
    {
      name: 'Publisher switcher, by name',
      cookie: member,
      path: (call) => page(first, `/find?only=publishers&q=Publisher%20${call}`),
    },
    { name: 'Users of a publisher with 1,000 users', cookie: member, path: () => page(first, '/settings/users') },
    { name: 'Publisher switcher of an operator', cookie: all, path: () => page(first, '/find?only=publishers&q=9') },
    { name: 'Publisher list of an operator', cookie: all, path: () => '/dashboard/operator/publishers' },
    { name: 'Operators', cookie: all, path: () => '/dashboard/operator/users' },
    { name: 'Pending drafts', cookie: member, path: () => page(first, '/drafts') },
    {
      name: 'Draft comparison',
      cookie: member,
      path: (call) => page(first, `/drafts/${waiting[call % waiting.length]}`),
    },
    { name: 'Drafts of an advertiser', cookie: outside, path: () => `${own}/drafts` },
    { name: 'Campaigns of an advertiser', cookie: outside, path: () => `${own}/campaigns` },
    {
      name: 'Approval of a draft (API)',
      path: (call) => `/manage/v1/drafts/${waiting[call]}/approve`,
      form: () => ({}),
    },
  ];
  const rows: string[][] = [];
  try {
    // Warm up, to exclude the first reads, connections and query plans of a new process.
    for (const pageCall of pageCalls.filter(({ form }) => form === undefined))
      await measure(server.url, pageCall, processor, 5);
    for (const pageCall of pageCalls) rows.push([pageCall.name, ...(await measure(server.url, pageCall, processor))]);
  } finally {
    await server.stop();
  }
  const [load = 0] = loadavg();
  const size = `${people} people, ${publishers} publishers, ${drafts} pending drafts of one publisher`;
  await writeTable(
    requestedCalls === undefined ? 'accounts' : null,
    ['Page', 'p50 ms', 'p95 ms', 'CPU: server ms', 'database ms', 'limit', 'kept'],
    rows,
    `\n${size}; ${calls} calls each, load average ${load.toFixed(1)} at the end.`,
  );
}

/** @returns median, 95th percentile, CPU times, the page's time limit, and whether the limit was met */
async function measure(
  base: string,
  { cookie = '', path, form }: PageCall,
  processor: () => Promise<Processor>,
  times = calls,
): Promise<string[]> {
  const latenciesMs: number[] = [];
  const before = await processor();
  for (let call = 0; call < times; call++) {
    const url = base + path(call);
    const isApi = url.includes('/manage/');
    const headers = isApi
      ? { authorization: `Bearer ${key}-2`, 'content-type': 'application/json' }
      : { cookie, ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }) };
    const fields = form?.(call);
    const body = isApi ? JSON.stringify(fields) : String(new URLSearchParams(fields as Record<string, string>));
    const startMs = performance.now();
    const answer = await fetch(url, {
      headers,
      redirect: 'manual',
      ...(form !== undefined && { method: 'POST', body }),
    });
    const text = await answer.text();
    latenciesMs.push(performance.now() - startMs);
    if (answer.status !== (form === undefined || isApi ? 200 : 303))
      throw new Error(`${url} answered ${answer.status} ${text.slice(0, 500)}`);
  }
  const used = cpuUseSince(before, await processor(), times);
  latenciesMs.sort((a, b) => a - b);
  const at = (share: number): number => latenciesMs[Math.floor(share * (latenciesMs.length - 1))] ?? 0;
  const isPage = !path(0).startsWith('/manage/');
  const isWithinLimit = at(0.95) <= limitMs ? 'yes' : 'NO';
  return [at(0.5).toFixed(1), at(0.95).toFixed(1), ...used, ...(isPage ? [String(limitMs), isWithinLimit] : ['', ''])];
}

await seedAndAsk({ command, folder, seed, ask });
