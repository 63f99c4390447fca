import { Session } from 'node:inspector';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildApp } from '../../src/app.ts';
import type { App } from '../../src/platform/ports.ts';
import type { Room } from '../../src/runtime/room.ts';
import { csrfIn, signInAs } from '../dashboard/support.ts';
import { startTestJobs } from '../support/jobs.ts';
import { requestOver } from '../support/request.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { startHook } from '../webhooks/dispatcher/support.ts';

/** The four flows of docs/architecture.md, each with the files that it enters, by path. */
export type Flows = Record<'fetch' | 'beacon' | 'wrap' | 'form', readonly string[]>;

/** A flow is repeated: what runs each time counts, but not what also runs while nothing is asked, as jobs do. */
const repeats = 10;

/** Longer than the pause of any poll (milliseconds): what runs by the clock is seen, on a fast machine too. */
const idleMs = 1500;

type Functions = ReadonlySet<string>;

/** Functions under src that have run since the last call, as V8 counts them, each as `path name offset`. */
function takeFunctions(session: Session): Functions {
  const found = new Set<string>();
  session.post('Profiler.takePreciseCoverage', (_err, { result }) => {
    for (const { url, scriptId, functions } of result) {
      const path = /\/(src\/.*\.ts)/.exec(url)?.[1];
      if (path === undefined) continue;
      const ran = functions.flatMap(({ functionName: name, ranges: [range] }) =>
        range === undefined || range.count === 0 ? [] : [{ name, ...range }],
      );
      if (ran.length === 0) continue;
      const source = sourceOf(session, scriptId);
      for (const { name, startOffset, endOffset } of ran)
        if (!isExportOfVite(source.slice(startOffset, endOffset))) found.add(`${path} ${name} ${startOffset}`);
    }
  });
  return found;
}

function sourceOf(session: Session, scriptId: string): string {
  let source = '';
  session.post('Debugger.getScriptSource', { scriptId }, (_err, answer) => {
    source = answer.scriptSource;
  });
  return source;
}

/** What Vite puts in for each export of a module, and calls wherever a constant of it is read. */
const isExportOfVite = (text: string): boolean => /^\(\) => \{ try \{ return [\w$]+ \} catch \{\} \}$/.test(text);

const filesOf = (functions: Iterable<string>): string[] =>
  [...new Set([...functions].map((key) => key.slice(0, key.indexOf(' '))))].sort();

/** Follows each flow from its handler until it is answered, or for a wrap until its webhook has arrived. */
export async function enteredFiles(): Promise<Flows> {
  const session = new Session();
  session.connect();
  const t = await createTestApp();
  const hook = await startHook();
  const app = await buildApp({
    house: { ...t.house, rooms: [atHandlers(() => void takeFunctions(session)), ...t.house.rooms] },
    deps: t.deps,
    serveApi: true,
  });
  const background = await startTestJobs(t, 'webhook dispatcher');
  const always = async (prepare: Prepare): Promise<readonly string[]> => {
    let entered = null as Functions | null;
    const byTheClock = new Set<string>();
    for (let turn = 0; turn < repeats; turn += 1) {
      const run = await prepare();
      await settled();
      takeFunctions(session);
      const startedMs = performance.now();
      await run();
      const ran = takeFunctions(session);
      entered = entered === null ? ran : new Set([...entered].filter((key) => ran.has(key)));
      const tookMs = performance.now() - startedMs;
      await settled();
      takeFunctions(session);
      await sleep(tookMs);
      for (const key of takeFunctions(session)) byTheClock.add(key);
    }
    await sleep(idleMs);
    for (const key of takeFunctions(session)) byTheClock.add(key);
    return filesOf([...(entered ?? [])].filter((key) => !byTheClock.has(key)));
  };
  session.post('Debugger.enable');
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  try {
    await addEndpoint(t, hook.url);
    const flow = flowsOf({ ...t, app }, () => hook.taken.length);
    return {
      fetch: await always(flow.fetch),
      beacon: await always(flow.beacon),
      wrap: await always(flow.wrap),
      form: await always(await flow.form()),
    };
  } finally {
    session.post('Profiler.stopPreciseCoverage');
    session.disconnect();
    await background.stop();
    await app.close();
    await hook.close();
    await t.close();
  }
}

/** What follows the answer of a request has run. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A room that is told when a route's handler begins. */
const atHandlers = (begun: () => void): Room => ({
  name: 'handlers',
  prepare: async (app: App) => {
    app.addHook('preHandler', (_request, _reply, done) => {
      begun();
      done();
    });
  },
});

async function addEndpoint({ app }: TestApp, url: string): Promise<void> {
  const answer = await app.inject({
    method: 'PUT',
    url: '/manage/v1/webhook-endpoints/usp.selection?api_key=demo-key',
    payload: { url, method: 'POST' },
  });
  if (answer.statusCode >= 300) throw new Error(answer.body);
}

type Prepare = () => Promise<() => Promise<unknown>>;

function flowsOf(
  t: TestApp,
  hooksTaken: () => number,
): Record<'fetch' | 'beacon' | 'wrap', Prepare> & {
  form: () => Promise<Prepare>;
} {
  const { app } = t;
  let users = 0;
  const fetchOffers = async () => {
    users += 1;
    const payload = { placement: 'checkout', pub_user_id: `flow-${users}`, first_name: 'Zoë', country: 'US' };
    const answer = await app.inject({ method: 'POST', url: '/native/v4/offers.json?api_key=demo-key', payload });
    if (answer.statusCode !== 200) throw new Error(answer.body);
    return answer.json().data as { session_id: string; offers: { pixel: string; campaign_id: number }[] };
  };
  return {
    fetch: async () => fetchOffers,
    beacon: async () => {
      const { offers } = await fetchOffers();
      return () => requestOver(app, { url: offers[0]?.pixel ?? '' });
    },
    wrap: async () => {
      const { session_id: id, offers } = await fetchOffers();
      const base = `/sdk/v4/usp`;
      const select = `${base}/${id}/${offers[0]?.campaign_id}/select.json?api_key=demo-key`;
      await app.inject({ method: 'POST', url: select, payload: {} });
      const before = hooksTaken();
      return async () => {
        const url = `${base}/session/${id}.json?api_key=demo-key`;
        await app.inject({ method: 'POST', url, payload: { action: 'wrap' } });
        while (hooksTaken() === before) await new Promise((resolve) => setImmediate(resolve));
      };
    },
    form: async () => {
      const user = await signInAs(t, 'admin');
      const path = `/dashboard/p/${t.publisher.id}/advertisers`;
      const headers = { cookie: user.cookie, origin: 'http://perks.test' };
      return async () => {
        const page = await app.inject({ url: `${path}/new`, headers });
        users += 1;
        const payload = new URLSearchParams({ _csrf: csrfIn(page.body), name: `Advertiser ${users}` }).toString();
        const type = { 'content-type': 'application/x-www-form-urlencoded' };
        return async () => {
          const answer = await app.inject({ method: 'POST', url: path, headers: { ...headers, ...type }, payload });
          if (answer.statusCode !== 303) throw new Error(`${answer.statusCode} ${answer.body}`);
        };
      };
    },
  };
}
