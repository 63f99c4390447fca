import type { LightMyRequestResponse } from 'fastify';
import { loadDemoCatalogue, randomDemoIds } from '../../src/demo/catalogue.ts';
import { transaction } from '../../src/platform/db/pool.ts';
import { newUuid7 } from '../../src/platform/lib/uuid7.ts';
import { enqueue } from '../../src/webhooks/outbox.ts';
import type { TestBase } from '../support/test-modules.ts';

/** A publisher with at least one of everything that has an ID. All its data contains a unique marker. */
export type Tenant = {
  publisherId: number;
  key: string;
  sdkId: string;
  marker: string;
  user: string;
  /** IDs by path variable. Row IDs are stored under the name of their kind. */
  ids: Readonly<Record<string, string>>;
};

export const unknownIds: Readonly<Record<string, string>> = {
  number: '200000001',
  uuid: newUuid7(Date.now() - 1000),
  name: 'no-such-name',
};

let addresses = 0;

export function callAs(
  t: TestBase,
  tenant: Pick<Tenant, 'key'>,
  method: string,
  url: string,
  body?: object | string,
): Promise<LightMyRequestResponse> {
  addresses += 1;
  return t.app.inject({
    method: method.toUpperCase() as 'GET',
    url,
    headers: {
      authorization: `Bearer ${tenant.key}`,
      ...(typeof body === 'string' && { 'content-type': 'text/csv' }),
    },
    remoteAddress: `10.1.${addresses >> 8}.${addresses & 255}`,
    ...(body !== undefined && { payload: body }),
  });
}

export async function addTenant(t: TestBase, marker: string): Promise<Tenant> {
  const { key, sdkId } = randomDemoIds();
  const publisherId = await transaction(t.pool, (executor) => loadDemoCatalogue(executor, { key, sdkId }));
  for (const [table, column] of [
    ['themes', 'name'],
    ['advertisers', 'name'],
    ['campaigns', 'name'],
    ['offers', 'title'],
    ['api_keys', 'name'],
    ['placements', 'display_name'],
  ])
    await t.pool.query(`update ${table} set ${column} = $2 where publisher_id = $1`, [publisherId, marker]);
  await t.pool.query('update publishers set name = $2 where id = $1', [publisherId, marker]);
  await t.pool.query('insert into placements (publisher_id, name) values ($1, $2)', [
    publisherId,
    `page-${marker.toLowerCase()}`,
  ]);
  await t.deps.catalog.refresh();

  const user = `user-${marker}`;
  const call = async (method: string, url: string, body?: object): Promise<Record<string, unknown>> => {
    const answer = await callAs(t, { key }, method, url, body);
    if (answer.statusCode >= 300) throw new Error(`${method} ${url}: ${answer.statusCode} ${answer.body}`);
    return answer.json().data;
  };
  const fetched = await call('POST', '/native/v4/offers.json', {
    placement: 'checkout',
    pub_user_id: user,
    note: marker,
  });
  const [offer] = fetched.offers as { id: number; campaign_id: number; save_for_later_url: string }[];
  await t.app.inject({
    method: 'POST',
    url: new URL(String(offer?.save_for_later_url)).href.replace('http://perks.test', ''),
  });
  await call('PUT', '/manage/v1/webhook-endpoints/usp.selection', {
    url: `http://127.0.0.1:9/${marker}`,
    method: 'POST',
  });
  // The endpoint has an event to pull.
  await call('POST', '/manage/v1/webhook-endpoints', { destination: { kind: 'pull' }, events: ['usp.selection'] });
  const listener = await call('POST', '/manage/v1/webhook-listeners', { forward_url: `http://127.0.0.1:9/${marker}` });
  const portal = await call('POST', '/manage/v1/portal-links', {
    frame_origin: 'https://admin.example',
    permissions: ['live'],
  });
  const savedReport = await call('POST', '/manage/v1/saved-reports', { name: marker, query: 'by=campaign' });
  const promised = {
    publisherId,
    event: 'usp.selection',
    sessionId: null,
    pubUserId: user,
    dev: false,
    nowMs: Date.now() - 5000,
  };
  const [delivery] = await transaction(t.pool, (executor) =>
    enqueue(executor, [{ ...promised, payload: () => Buffer.from('{}') }]),
  );
  await t.pool.query(
    `with gone as (delete from delivery_queue where delivery_id = $1)
      update deliveries set status = 'failed' where id = $1`,
    [delivery],
  );
  const replay = await call('POST', '/manage/v1/deliveries/replay', { status: ['failed'] });
  const erasure = await call('POST', '/manage/v1/privacy/erasure', { pub_user_id: 'somebody-else' });
  const rule = await call('POST', '/manage/v1/sequence-rules', { effect: 'deny', match: { tags: [marker] } });
  const metricAlert = await call('POST', '/manage/v1/metric-alerts', {
    name: marker,
    metric: 'clicks',
    comparison: 'below',
    threshold: 1,
  });
  const role = await call('POST', '/manage/v1/roles', { name: marker, permissions: ['reports'] });
  const spare = await call('POST', '/manage/v1/keys', { name: marker, permissions: ['reports'] });
  const ownKey = marker.toLowerCase();
  await call('PUT', `/manage/v1/users/${user}`, { attributes: { note: marker } });
  await call('POST', '/manage/v1/audiences', { key: ownKey, name: marker });
  await call('POST', '/manage/v1/experiments', {
    key: ownKey,
    name: marker,
    arms: [{ key: 'control', share: 1, changes: {} }],
  });
  await call('POST', `/manage/v1/offers/${offer?.id}/coupon-codes`, { codes: [`${marker}-1`] });
  await t.pool.query(
    `insert into drafts (publisher_id, campaign_id, resource, row_id, subject, changes, base, note, state,
      proposer_kind, proposer_id, proposed_by, created_at, updated_at)
    select publisher_id, campaign_id, 'offers', id, title, jsonb_build_object('title', $2::text),
      jsonb_build_object('title', title), '', 'waiting', 'user', 0, $2, now(), now()
    from offers where id = $1`,
    [offer?.id, marker],
  );
  await t.pool.query(
    `insert into draft_pictures (draft_id, bytes, type)
    select id, convert_to($2, 'UTF8'), 'png' from drafts where publisher_id = $1`,
    [publisherId, marker],
  );
  const message = newUuid7(Date.now());
  await t.pool.query(
    `insert into perk_messages (id, publisher_id, session_id, user_key, content_sealed, state, keep_until, created_at)
    values ($1, $2, gen_random_uuid(), gen_random_uuid(), '', 'failed', now(), now())`,
    [message, publisherId],
  );
  await t.pool.query(
    `insert into alerts (publisher_id, kind, subject, cause, data, raised_at)
    values ($1, 'campaign.ended', '1', '',
      jsonb_build_object('campaign_id', 1, 'name', $2::text, 'ended_at', now()), now())`,
    [publisherId, marker],
  );
  await t.pool.query(
    `insert into alert_rules (publisher_id, name, url_sealed, kinds, created_at) values ($1, $2, $3, '{}', now())`,
    [publisherId, marker, t.deps.secretBox.seal('http://127.0.0.1:9/', 'alert-url')],
  );
  const first = async (table: string, where = 'publisher_id = $1'): Promise<string> =>
    String((await t.pool.query(`select min(id) as id from ${table} where ${where}`, [publisherId])).rows[0].id);
  return {
    publisherId,
    key,
    sdkId,
    marker,
    user,
    ids: {
      publishers: String(publisherId),
      publisher_id: String(publisherId),
      keys: String(spare.id),
      themes: await first('themes'),
      advertisers: await first('advertisers'),
      advertiser_id: await first('advertisers'),
      campaigns: String(offer?.campaign_id),
      campaign_id: String(offer?.campaign_id),
      offers: String(offer?.id),
      offer_id: String(offer?.id),
      creatives: await first('creatives', 'offer_id in (select id from offers where publisher_id = $1)'),
      alerts: await first('alerts'),
      'alert-channels': await first('alert_rules'),
      'sequence-rules': String(rule.id),
      roles: String(role.id),
      'metric-alerts': String(metricAlert.id),
      name: `page-${marker.toLowerCase()}`,
      deliveries: String(delivery),
      replays: String(replay.id),
      'portal-links': String(portal.id),
      'saved-reports': String(savedReport.id),
      listener: String(listener.id),
      erasure: String(erasure.id),
      pub_user_id: user,
      audiences: ownKey,
      experiments: ownKey,
      drafts: await first('drafts'),
      'perk-messages': message,
      session_id: String(fetched.session_id),
      sessions: String(fetched.session_id),
    },
  };
}
