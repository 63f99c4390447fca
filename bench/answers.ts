import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServerProcess } from '../test/support/server-process.ts';
import { checkOut, seedsOf } from './checkout.ts';
import { openStage } from './stage.ts';

/*
 * npm run bench:answers -- [commit or folder]
 *
 * Sends about 600 requests to the working tree and to another version (default: the last tag, or HEAD~1 if there is no
 * tag), and compares the responses byte for byte, including the headers but not IDs, times and tokens. Use it for
 * changes that should only make requests cheaper.
 */

/**
 * Preloaded code that gives all sessions the same random seed. The seed consists of the last bytes of a session ID, and
 * is the only source of randomness in decisions.
 */
const seeded = `
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
const { randomFillSync } = crypto;
crypto.randomFillSync = (into) => {
  const bytes = randomFillSync(into);
  for (let at = 12; at < bytes.length; at += 16) bytes.fill(7, at, at + 4);
  return bytes;
};
syncBuiltinESMExports();`;

const uuid7 = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g;
const masks: readonly (readonly [RegExp, string])[] = [
  [/^Date: .*$/gim, 'Date: …'],
  [uuid7, 'UUID'],
  [/\bt=[A-Za-z0-9_-]{64}/g, 't=…'],
  [/([?&](?:session|click|click_id|cid))=[A-Za-z0-9_-]+/g, '$1=…'],
  [/"(request_id|next_cursor|first_cursor|cursor)":"[^"]+"/g, '"$1":"…"'],
  [/data:image\/[a-z+]+;base64,[A-Za-z0-9+/=]+/g, 'data:…'],
];

/** Sends a request and returns the whole response as text. */
async function ask(port: number, request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const parts: Buffer[] = [];
  socket.on('data', (part) => parts.push(part));
  socket.write(request);
  await once(socket, 'end');
  return Buffer.concat(parts).toString('latin1');
}

const head = 'host: bench\r\nuser-agent: Mozilla/5.0 (X11; Linux x86_64) bench\r\nconnection: close\r\n';
const get = (url: string, method = 'GET'): string => `${method} ${url} HTTP/1.1\r\n${head}\r\n`;

function post(url: string, body: unknown, more = ''): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const lines = `content-type: application/json\r\n${more}content-length: ${Buffer.byteLength(text)}\r\n`;
  return `POST ${url} HTTP/1.1\r\n${head}${lines}\r\n${text}`;
}

const offersUrl = '/native/v4/offers.json?api_key=demo-key';
/** Returns the item at an index, starting again from the beginning after the last one. */
const oneOf = <Value>(values: readonly Value[], at: number): Value => values[at % values.length] as Value;

/** Returns a fetch whose properties all differ from those of the fetches before and after it. */
function fetchOf(no: number): string {
  const key = no % 17 === 0 ? '' : no % 19 === 0 ? 'api_key=wrong' : 'api_key=demo-key';
  const more = `${no % 23 === 0 ? '&loyaltyboost=1' : ''}${no % 5 === 0 ? `&campaignId=${1 + (no % 12)}` : ''}`;
  return post(`/native/${oneOf(['v4', 'v2', 'v1'], no)}/offers.json?${key}${more}`, {
    placement: oneOf(['checkout', 'Order Complete', '', 'thank-you', 'ünï'], no),
    country: oneOf(['US', 'DEU', 'xx', undefined, 'gb'], no >> 1),
    ad_fp: no % 3 === 0 ? undefined : `user-${no}`,
    pub_user_id: oneOf(['a@b.de', `p-${no}`, `p-${no}`, `p-${no}`, null, 7, `p-${no}`], no),
    ua: no % 2 === 0 ? undefined : 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X)',
    dev: no % 7 === 0 ? '1' : undefined,
    first_name: 'Ada & Bob',
    order_value: no,
    list: [1, { a: null }],
    consent: no % 11 === 0 ? '0' : undefined,
    themeId: no % 13 === 0 ? 'none' : undefined,
  });
}

/** Invalid and unusual requests. */
const others: readonly string[] = [
  ...['{', '', '[]', 'null', '{"a":', '{"__proto__":1,"placement":"x"}', '{"placement":5}', '['.repeat(200)].map(
    (body) => post(offersUrl, body),
  ),
  post(offersUrl, { placement: 'x'.repeat(70_000) }),
  ...['content-encoding: gzip', 'content-encoding: odd', 'sec-gpc: 1', 'origin: https://shop.example'].map((line) =>
    post(offersUrl, { placement: 'x' }, `${line}\r\n`),
  ),
  post(offersUrl, { placements: ['checkout', 'thank-you'], pub_user_id: 'several' }),
  ...['GET', 'OPTIONS', 'DELETE'].map((method) => get('/native/v4/offers.json', method)),
  ...['/nowhere', '/sdk/v2/impression/p.png', '/sdk/v2/impression/p.png?t=x&t=y', '/track?click_id=x'].map((url) =>
    get(url),
  ),
];

/**
 * Returns the tracking requests for one offer of a response: its beacon, a HEAD request, a beacon with an invalid
 * token, and the click.
 */
function trackingOf(answer: string): string[] {
  const pixel = /"pixel":"https?:\/\/[^/]+([^"]+)"/.exec(answer)?.[1];
  if (pixel === undefined) return [];
  const token = /t=([A-Za-z0-9_-]{64})/.exec(pixel)?.[1];
  return [get(pixel), get(pixel, 'HEAD'), get(pixel.replace(/t=..../, 't=AAAA')), get(`/sdk/offer-click?t=${token}`)];
}

/** Records all responses of a version, which runs on its own database. */
async function record(folder: string): Promise<string[]> {
  const stage = await openStage(undefined, false);
  const { port, stop } = await startServerProcess({
    databaseUrl: stage.databaseUrl,
    folder,
    execArgv: ['--import', `data:text/javascript,${encodeURIComponent(seeded)}`],
    env: { ROLES: 'api', PUBLIC_URL: 'http://perks.test' },
  });
  const { loadDemoCatalogue, embeddedDemoIds } = await seedsOf(folder);
  await loadDemoCatalogue(stage.pool, embeddedDemoIds);
  while (!(await ask(port, post(offersUrl, { placement: 'x' }))).startsWith('HTTP/1.1 200')) await sleep(100);
  const answers: string[] = [];
  const keep = async (request: string): Promise<string> => {
    const answer = await ask(port, request);
    const transcript = `${request.split('\r\n', 1)[0]}\n${answer}`.replaceAll(String(port), 'PORT');
    answers.push(masks.reduce((text, [pattern, mask]) => text.replace(pattern, mask), transcript));
    return answer;
  };
  for (let no = 0; no < 300; no += 1) {
    const answer = await keep(fetchOf(no));
    for (const request of no % 3 === 0 ? trackingOf(answer) : []) await keep(request);
  }
  for (let no = 0; no < 30; no += 1)
    await keep(
      post(`/native/v4/${oneOf(['offerwall', 'perkswall'], no)}.json?api_key=demo-key&limit=${no % 7}`, {
        placement: 'wall',
        pub_user_id: `wall-${no}`,
      }),
    );
  for (const request of others) await keep(request);
  await stop();
  await stage.close();
  return answers;
}

const parent = await openStage();
const before = await checkOut(parent.folder, process.argv[2]);
const [now, then] = [await record('.'), await record(before.folder)];
await parent.close();
const different = now.flatMap((answer, at) => (answer === then[at] ? [] : [at]));
for (const at of different.slice(0, 5)) {
  const [current, other] = [now[at] ?? '', then[at] ?? ''];
  let from = 0;
  while (from < current.length && current[from] === other[from]) from += 1;
  const around = (text: string): string => JSON.stringify(text.slice(Math.max(0, from - 80), from + 80));
  process.stdout.write(`${current.split('\n', 1)[0]}\n  current:  ${around(current)}\n  previous: ${around(other)}\n`);
}
process.stdout.write(`${now.length} responses, ${different.length} different from ${before.name}\n`);
process.exit(different.length === 0 && now.length === then.length ? 0 : 1);
