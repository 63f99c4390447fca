import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { untilWaiting } from '../../support/locks.ts';
import { drawStripes } from '../images/image-fixtures.ts';
import { addCatalogue, type Caller, createManagementModules, type ManagementModules, type Reply } from './support.ts';

let t: ManagementModules;
let me: Caller;
let offerId: number;
let png: Buffer;
beforeAll(async () => {
  t = await createManagementModules(['catalog-admin']);
  png = await drawStripes(60, 30);
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await t.caller(await t.addPublisher());
  offerId = (await addCatalogue(me)).offer as number;
});

const boundary = 'the-boundary';

/** Uploads an image like a browser form. */
function upload(
  bytes: Buffer,
  type: string,
  fields: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<Reply> {
  const parts = Object.entries({ offer_id: String(offerId), ...fields }).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const disposition = 'content-disposition: form-data; name="image"; filename="a.bin"';
  const head = `--${boundary}\r\n${disposition}\r\ncontent-type: ${type}\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(parts.join('') + head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  return me.call('POST', '/creatives', body, {
    'content-type': `multipart/form-data; boundary=${boundary}`,
    ...headers,
  });
}

const reasonOf = (reply: Reply) =>
  (reply.body as unknown as { error: { details: { message: string }[] } }).error.details[0]?.message;

test('concurrent images of one offer are all saved, and exactly one is the primary', async () => {
  const types = ['hero_image', 'hero_image', 'hero_image', 'hero_image', 'hero_image'];
  const replies = await Promise.all(types.map((creative_type) => upload(png, 'image/png', { creative_type })));
  expect(replies.map(({ status }) => status)).toEqual(types.map(() => 201));
  const ids = replies.map(({ body }) => body.data.id);
  const changes = await Promise.all(
    ids.slice(0, 3).map((id) => me.call('PATCH', `/creatives/${id}`, { is_primary: true })),
  );
  expect(changes.map(({ status }) => status)).toEqual([200, 200, 200]);
  const { rows } = await t.pool.query('select count(*)::int from creatives where offer_id = $1 and is_primary', [
    offerId,
  ]);
  expect(rows).toEqual([{ count: 1 }]);
});

describe('an upload', () => {
  test.each(['png', 'jpg', 'webp'] as const)('is measured, stored unchanged, and served: %s', async (type) => {
    const bytes = await sharp(png)
      .toFormat(type === 'jpg' ? 'jpeg' : type)
      .toBuffer();
    const { status, body } = await upload(bytes, `image/${type === 'jpg' ? 'jpeg' : type}`, {
      creative_type: 'hero_image',
    });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({
      type,
      width: 60,
      height: 30,
      creative_type: 'hero_image',
      is_primary: true,
      url: null,
    });
    const response = await t.app.inject({ url: String(body.data.path), headers: { accept: 'image/*' } });
    expect(response.rawPayload.equals(bytes)).toBe(true);
  });

  test('is measured as displayed if the camera was rotated', async () => {
    const turned = await sharp(png).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    expect((await upload(turned, 'image/jpeg')).body.data).toMatchObject({ width: 30, height: 60 });
  });

  test('converts a drawing to a PNG without external resources or scripts', async () => {
    const namespaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"';
    const file = '<image xlink:href="file:///etc/passwd" width="40" height="20"/>';
    const svg = `<?xml version="1.0"?><svg ${namespaces} width="40" height="20">
      <script>alert(1)</script><rect width="40" height="20" fill="#fff"/>
      ${file}<image href="http://127.0.0.1:1/x.png" width="40" height="20"/>
      <rect width="10" height="20" fill="#f00"/></svg>`;
    const { status, body } = await upload(Buffer.from(svg), 'image/svg+xml');
    expect(status).toBe(201);
    expect(body.data).toMatchObject({ type: 'png', width: 40, height: 20 });
    const response = await t.app.inject({ url: String(body.data.path), headers: { accept: 'image/png' } });
    expect(response.rawPayload.includes('script')).toBe(false);
    const pixels = await sharp(response.rawPayload).removeAlpha().raw().toBuffer();
    expect([...pixels.subarray(0, 3)]).toEqual([255, 0, 0]);
    expect([...pixels.subarray(60, 63)]).toEqual([255, 255, 255]);
  });

  test('is rejected with a reason if its content type is wrong', async () => {
    const lie = await upload(png, 'image/jpeg');
    expect(lie.status).toBe(400);
    expect(reasonOf(lie)).toBe('The file was sent as image/jpeg but contains image/png.');
    expect(reasonOf(await upload(Buffer.from('<html><script>alert(1)</script></html>'), 'image/png'))).toContain(
      'Unsupported image type.',
    );
    expect(reasonOf(await upload(Buffer.from('%PDF-1.7'), 'application/octet-stream'))).toContain(
      'Unsupported image type.',
    );
  });

  test('is rejected as a decompression bomb, by its width or number of pixels', async () => {
    const wide = await sharp({ create: { width: 20_001, height: 1, channels: 3, background: '#000' } })
      .png()
      .toBuffer();
    expect(reasonOf(await upload(wide, 'image/png'))).toBe(
      'The image has 20,001 × 1 pixels. Neither side can exceed 20,000 pixels.',
    );
    const bomb = Buffer.from(await drawStripes(8, 8));
    bomb.writeUInt32BE(19_000, 16);
    bomb.writeUInt32BE(19_000, 20);
    const reply = await upload(bomb, 'image/png');
    expect(reply.status).toBe(400);
    expect(reasonOf(reply)).toMatch(/million|broken/);
    const drawing =
      '<svg xmlns="http://www.w3.org/2000/svg" width="19000" height="19000"><rect width="9" height="9"/></svg>';
    expect(reasonOf(await upload(Buffer.from(drawing), 'image/svg+xml'))).toContain('million');
    const laughs =
      '<!DOCTYPE svg [<!ENTITY a "aaaa">]>' +
      '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text>&a;</text></svg>';
    expect(reasonOf(await upload(Buffer.from(laughs), 'image/svg+xml'))).toContain('entity declarations');
  });

  test('is rejected after ten seconds if rendering the drawing is slow, without delaying other uploads', async () => {
    const steps = '<feMorphology radius="300"/><feGaussianBlur stdDeviation="300"/>'.repeat(40);
    const drawing =
      `<svg xmlns="http://www.w3.org/2000/svg" width="6000" height="6000"><filter id="f">${steps}</filter>` +
      '<rect width="6000" height="6000" filter="url(#f)"/></svg>';
    expect(reasonOf(await upload(Buffer.from(drawing), 'image/svg+xml'))).toContain('10 seconds');
    expect((await upload(png, 'image/png')).status).toBe(201);
  }, 25_000);

  test('is rejected if the image is truncated', async () => {
    const noise = await sharp({
      create: {
        width: 300,
        height: 300,
        channels: 3,
        noise: { type: 'gaussian', mean: 128, sigma: 60 },
        background: '#000',
      },
    })
      .png()
      .toBuffer();
    expect(reasonOf(await upload(noise.subarray(0, noise.length / 2), 'image/png'))).toContain('The image is damaged.');
  });

  test('413: is rejected if it is larger than 5 MB', async () => {
    expect((await upload(Buffer.concat([png, Buffer.alloc(5 * 1024 * 1024)]), 'image/png')).status).toBe(413);
  });

  test('is rejected if fields are invalid or missing, and each field is reported', async () => {
    const reply = await upload(png, 'image/png', { creative_type: 'banner', is_primary: 'yes' });
    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({
      error: {
        details: [{ path: '/creative_type' }, { path: '/is_primary', message: 'The value must be true or false.' }],
      },
    });
    expect((await upload(png, 'image/png', { offer_id: '999999999' })).body).toMatchObject({
      error: { details: [{ path: '/offer_id', message: 'The offer was not found.' }] },
    });
  });

  test('is created once per Idempotency-Key', async () => {
    const [first, second] = await Promise.all(
      [1, 2].map(() => upload(png, 'image/png', {}, { 'idempotency-key': 'up-1' })),
    );
    expect(first?.status).toBe(201);
    expect(second?.body.data).toEqual(first?.body.data);
    expect((await upload(await drawStripes(9, 9), 'image/png', {}, { 'idempotency-key': 'up-1' })).status).toBe(422);
  });
});

describe('creatives of an offer', () => {
  const add = async (body: object) =>
    (
      await me.call('POST', '/creatives', {
        offer_id: offerId,
        type: 'png',
        width: 9,
        height: 9,
        url: 'https://cdn.example/a.png',
        ...body,
      })
    ).body.data;
  const primary = async () =>
    (
      (await me.call('GET', `/creatives?offer_id=${offerId}&is_primary=true`)).body.data as unknown as { id: number }[]
    ).map(({ id }) => id);

  test('have one primary, which is the first, then the marked one, and after its removal the oldest', async () => {
    const first = await add({});
    const second = await add({});
    expect(await primary()).toEqual([first.id]);
    await me.call('PATCH', `/creatives/${second.id}`, { is_primary: true });
    expect(await primary()).toEqual([second.id]);
    const third = await add({ is_primary: true });
    expect(await primary()).toEqual([third.id]);
    expect((await me.call('DELETE', `/creatives/${third.id}`)).status).toBe(204);
    expect(await primary()).toEqual([first.id]);
  });

  /** Removes an image while another process that has locked the offer and its images makes a change. */
  async function removeBeside(id: unknown, locked: unknown[], change: string): Promise<number> {
    const other = await t.pool.connect();
    try {
      await other.query('begin');
      await other.query('select 1 from offers where id = $1 for no key update', [offerId]);
      await other.query('select 1 from creatives where id = any($1) for update', [locked]);
      const removed = me.call('DELETE', `/creatives/${id}`);
      await untilWaiting(t.pool, 1);
      await other.query(change);
      await other.query('commit');
      return (await removed).status;
    } finally {
      await other.query('rollback');
      other.release();
    }
  }

  test('have a primary when the next one is removed concurrently', async () => {
    const [first, second, third] = [await add({}), await add({}), await add({})];
    const removal = `update creatives set deleted_at = now() where id = ${second.id}`;
    expect(await removeBeside(first.id, [second.id], removal)).toBe(204);
    expect(await primary()).toEqual([third.id]);
  });

  test('have a primary when one is removed while another is added', async () => {
    const { id } = await add({});
    const addition = `insert into creatives (offer_id, creative_type, url, type, width, height)
      values (${offerId}, 'offer_image', 'https://cdn.example/b.png', 'png', 9, 9)`;
    expect(await removeBeside(id, [], addition)).toBe(204);
    expect(await primary()).toHaveLength(1);
  });

  test('get a new primary if a removed one is still marked as primary', async () => {
    const [first, second] = [await add({}), await add({})];
    await t.pool.query('update creatives set deleted_at = now() where id = $1', [first.id]);
    expect((await me.call('DELETE', `/creatives/${second.id}`)).status).toBe(204);
    expect(await primary()).toEqual([]);
    const third = await add({});
    expect(await primary()).toEqual([third.id]);
  });

  test('keep their uploaded image, and need a URL if they are external', async () => {
    const { body } = await upload(png, 'image/png');
    expect((await me.call('PATCH', `/creatives/${body.data.id}`, { width: 5 })).status).toBe(400);
    expect(
      (await me.call('POST', '/creatives', { offer_id: offerId, type: 'png', width: 9, height: 9, url: null })).status,
    ).toBe(400);
    expect(
      (
        await me.call('POST', '/creatives', {
          offer_id: offerId,
          type: 'png',
          width: 9,
          height: 9,
          url: 'http://cdn.example/',
        })
      ).status,
    ).toBe(400);
  });
});
