import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import openapiTS from 'openapi-typescript';

/** What a publisher's server would write; `api.ts` is generated from the API reference. */
const source = `
import createClient from 'openapi-fetch';
import type { components, paths } from './api.ts';

type Offer = components['schemas']['Offer'];

export function shop(baseUrl: string, key: string) {
  const client = createClient<paths>({ baseUrl, headers: { authorization: 'Bearer ' + key } });

  async function confirmFirstOffer(user: string): Promise<string> {
    const fetched = await client.POST('/native/v4/offers.json', {
      body: { placement: 'checkout', pub_user_id: user },
      headers: { 'user-agent': 'Shop/1.0' },
    });
    if (fetched.error !== undefined) throw new Error(fetched.error.error.message);
    const { session_id, offers } = fetched.data.data;
    const offer: Offer | undefined = offers[0];
    if (offer === undefined) throw new Error('no offers');

    const t = new URL(offer.pixel).searchParams.get('t') ?? '';
    const beacon = await client.GET('/sdk/v2/impression/p.png', { params: { query: { t } }, parseAs: 'blob' });
    if (!beacon.response.ok) throw new Error('the beacon was refused');

    const selected = await client.POST('/sdk/v4/usp/{session_id}/{campaign_id}/select.json', {
      params: { path: { session_id, campaign_id: String(offer.campaign_id) } },
      body: { pub_user_id: user },
    });
    if (selected.data?.data.selected.includes(offer.campaign_id) !== true) throw new Error('not selected');
    const confirmed = await client.POST('/sdk/v4/usp/session/{session_id}.json', {
      params: { path: { session_id } },
      body: { pub_user_id: user, action: 'wrap' },
    });
    const status: 'open' | 'wrapped' | 'expired' | undefined = confirmed.data?.data.status;
    if (status !== 'wrapped') throw new Error('not confirmed');
    return session_id;
  }

  // A change of one field, with a number in the query.
  void (() =>
    client.PATCH('/manage/v1/offers/{id}', {
      params: { path: { id: '1' }, query: { publisher_id: 1 } },
      body: { title: 'New' },
    }));

  async function deliveryStatusesOf(session_id: string): Promise<string[]> {
    const found = await client.GET('/manage/v1/deliveries', { params: { query: { session_id } } });
    return (found.data?.data.deliveries ?? []).map(({ status }) => status);
  }
  return { confirmFirstOffer, deliveryStatusesOf };
}

// @ts-expect-error No operation has this path.
void (() => createClient<paths>().GET('/native/v4/nothing.json'));
`;

export type Shop = {
  /** Fetches offers, records an impression, selects the first offer and confirms. @returns the session */
  confirmFirstOffer: (user: string) => Promise<string>;
  /** Of the deliveries to all endpoints. */
  deliveryStatusesOf: (sessionId: string) => Promise<string[]>;
};

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Generates types from an API description and compiles the program above with them.
 * @throws with the compiler's errors
 */
export async function buildGeneratedClient(description: object): Promise<(baseUrl: string, key: string) => Shop> {
  // Inside of the repository, where packages are found.
  const folder = await mkdtemp(join(repository, 'node_modules', '.generated-client-'));
  try {
    await writeFile(join(folder, 'api.ts'), await openapiTS(structuredClone(description) as never));
    await writeFile(join(folder, 'shop.ts'), source);
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    const tsc = createRequire(import.meta.url)
      .resolve('typescript/package.json')
      .replace('package.json', 'bin/tsc');
    const flags = '--ignoreConfig --noEmit --strict --module nodenext --target es2023 --allowImportingTsExtensions';
    await run(process.execPath, [tsc, ...flags.split(' '), '--types', 'node', 'shop.ts'], { cwd: folder }).catch(
      (err) => {
        throw new Error(String((err as { stdout?: string }).stdout ?? err));
      },
    );
    const outfile = join(folder, 'shop.mjs');
    await build({ entryPoints: [join(folder, 'shop.ts')], outfile, bundle: true, format: 'esm', platform: 'node' });
    return ((await import(pathToFileURL(outfile).href)) as { shop: (baseUrl: string, key: string) => Shop }).shop;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
