import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Dispatcher } from '../../../src/webhooks/dispatcher/worker.ts';
import { type Hook, startHook, startTestDispatcher } from '../../webhooks/dispatcher/support.ts';
import { type OpenPage, type Stage, startStage } from './support.ts';

let stage: Stage;
let hook: Hook;
let dispatcher: Dispatcher;
let secret = '';
let users = 0;
beforeAll(async () => {
  stage = await startStage();
  hook = await startHook();
  dispatcher = await startTestDispatcher(stage.t);
  const answer = await fetch(`${stage.url}/manage/v1/webhook-endpoints/usp.selection?api_key=demo-key`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url: hook.url, method: 'POST', enabled: true }),
  });
  secret = JSON.stringify(await answer.json()).match(/whsec_[^"]+/)?.[0] ?? '';
});
afterAll(async () => {
  await dispatcher.stop();
  await hook.close();
  await stage.close();
});

const newUser = (): { placement: string; pub_user_id: string } => ({
  placement: 'checkout',
  pub_user_id: `perks-${++users}`,
});

type SelectionRow = { session_id: string; campaign_ids: number[]; selected: number[]; wrapped: boolean };

async function rowOf(user: { pub_user_id: string }): Promise<SelectionRow> {
  const { rows } = await stage.t.pool.query<{ id: string; campaign_ids: number[] }>(
    'select id, campaign_ids from sessions where pub_user_id = $1 order by created_at desc limit 1',
    [user.pub_user_id],
  );
  const session = rows[0] as { id: string; campaign_ids: number[] };
  const answer = await fetch(
    `${stage.url}/sdk/v4/usp/session/${session.id}.json?api_key=demo-key&pub_user_id=${user.pub_user_id}`,
  );
  const { data } = (await answer.json()) as { data: { selected: number[]; status: string } };
  return {
    session_id: session.id,
    campaign_ids: session.campaign_ids,
    selected: data.selected,
    wrapped: data.status === 'wrapped',
  };
}

const deliveriesOf = async (session: string): Promise<number> =>
  (
    await stage.t.pool.query<{ n: number }>('select count(*)::int as n from deliveries where session_id = $1', [
      session,
    ])
  ).rows[0]?.n ?? -1;

const box = ({ page }: OpenPage, index: number) => page.getByRole('checkbox').nth(index);
const fire = ({ page }: OpenPage, target = 'document', name = 'ad:confirm') =>
  page.evaluate(`${target}.dispatchEvent(new CustomEvent('${name}', { bubbles: true }))`);
const storedSessions = ({ page }: OpenPage) => page.evaluate('Object.values(sessionStorage)');
const webhooksOf = (session: string) => hook.requests.filter(({ body }) => body.includes(session));

describe('User Selected Perks, from selection to webhook', () => {
  test('the selection arrives once and signed when the page confirms it', async () => {
    const user = newUser();
    const opened = await stage.open({ user });
    await opened.until('ads_found');
    await box(opened, 0).check();
    await box(opened, 2).check();
    await box(opened, 0).uncheck();
    await fire(opened);
    const row = await rowOf(user);
    expect(await opened.until('usp_confirmed')).toEqual({ selected: [row.campaign_ids[2]] });
    await fire(opened, 'window');
    await expect.poll(() => webhooksOf(row.session_id).length).toBe(1);
    const [webhook] = webhooksOf(row.session_id);
    const payload = new Webhook(secret).verify(webhook?.body as Buffer, webhook?.headers as Record<string, string>) as {
      body: { selected: number; campaigns: { campaign_id: number }[] };
    };
    expect(payload.body.selected).toBe(1);
    expect(payload.body.campaigns.map(({ campaign_id }) => campaign_id)).toEqual([row.campaign_ids[2]]);
    expect((await rowOf(user)).wrapped).toBe(true);
    expect(await deliveriesOf(row.session_id)).toBe(1);
    expect(await opened.page.evaluate('Ad.confirm()')).toBe(true);
    expect(opened.calls().filter((call) => call.startsWith('POST /sdk/v4/usp/session/'))).toHaveLength(1);
    expect(await box(opened, 1).isDisabled()).toBe(true);
    const names = (await opened.names()).filter((name) => name.startsWith('usp'));
    expect(names).toEqual(['usp_selected', 'usp_selected', 'usp_unselected', 'usp_confirmed']);
  });

  test("changes reach a slow server one after another, in the user's order", async () => {
    const user = newUser();
    const opened = await stage.open({ user });
    await opened.until('ads_found');
    let concurrent = 0;
    let maxConcurrent = 0;
    await opened.page.route('**/sdk/v4/usp/**/*select.json*', async (route) => {
      maxConcurrent = Math.max(maxConcurrent, ++concurrent);
      await new Promise((resolve) => setTimeout(resolve, 120));
      await route.continue();
      concurrent--;
    });
    for (const index of [1, 0, 2]) await box(opened, index).check();
    await box(opened, 1).uncheck();
    const { campaign_ids: ids } = await rowOf(user);
    await expect.poll(async () => (await rowOf(user)).selected).toEqual([ids[0], ids[2]]);
    const changes = opened
      .calls()
      .flatMap((call) => /^POST .*\/(\d+)\/((?:un)?select)\.json$/.exec(call)?.slice(1).join(' ') ?? []);
    expect(changes).toEqual([`${ids[1]} select`, `${ids[0]} select`, `${ids[2]} select`, `${ids[1]} unselect`]);
    expect(maxConcurrent).toBe(1);
  });

  test('changes that did not reach the server are sent with the confirmation', async () => {
    const user = newUser();
    const opened = await stage.open({ user });
    await opened.until('ads_found');
    await opened.page.route('**/sdk/v4/usp/*/*/*select.json*', (route) => route.abort());
    await box(opened, 0).check();
    await box(opened, 1).check();
    await opened.page.evaluate('Ad.confirm()');
    const row = await rowOf(user);
    expect([row.selected, row.wrapped]).toEqual([row.campaign_ids.slice(0, 2), true]);
    expect(opened.calls().filter((call) => call.startsWith('PUT '))).toHaveLength(1);
  });

  test('a perk selected just before leaving the page reaches the server before the confirmation', async () => {
    const user = newUser();
    const opened = await stage.open({ user });
    await opened.until('ads_found');
    await opened.page.route('**/sdk/v4/usp/*/*/*select.json*', () => {});
    // A selection change that is sent at the same time as the confirmation may arrive after it.
    await opened.page.route('**/sdk/v4/usp/session/*', async (route) => {
      const isChange = route.request().method() === 'PUT';
      if (isChange) await expect.poll(async () => (await rowOf(user)).wrapped).toBe(true);
      await route.continue();
    });
    await box(opened, 0).check();
    await box(opened, 1).check();
    await box(opened, 0).uncheck();
    await opened.page.evaluate('void Ad.confirm()');
    await opened.page.evaluate('window.dispatchEvent(new Event("pagehide"))');
    await expect.poll(async () => (await rowOf(user)).wrapped).toBe(true);
    const row = await rowOf(user);
    expect(row.selected).toEqual(row.campaign_ids.slice(1, 2));
  });

  test('the selection, the offers and the session survive a page reload', async () => {
    const user = newUser();
    const opened = await stage.open({ user });
    await opened.until('ads_found');
    await box(opened, 1).check();
    const { session_id, campaign_ids } = await rowOf(user);
    await expect.poll(async () => (await rowOf(user)).selected).toEqual([campaign_ids[1]]);
    await opened.page.reload();
    await opened.until('ads_found');
    await box(opened, 1).waitFor();
    expect(await Promise.all([0, 1, 2].map((index) => box(opened, index).isChecked()))).toEqual([false, true, false]);
    await fire(opened, 'window');
    await opened.until('usp_confirmed');
    expect(await rowOf(user)).toMatchObject({ session_id, selected: [campaign_ids[1]], wrapped: true });
    await opened.page.reload();
    await opened.until('ads_found');
    expect((await rowOf(user)).session_id).not.toBe(session_id);
  });

  test('a later page of the tab can confirm the perks', async () => {
    const user = newUser();
    const opened = await stage.open({ user });
    await opened.until('ads_found');
    await box(opened, 0).check();
    await opened.until('usp_selected');
    await opened.page.goto(stage.urlOf({ user: { ...user, placement: 'order-status' }, config: { autoLoad: false } }));
    expect(await opened.page.evaluate('Ad.confirm()')).toBe(true);
    const row = await rowOf(user);
    expect([row.selected, row.wrapped]).toEqual([row.campaign_ids.slice(0, 1), true]);
  });

  test('a later page of the tab confirms the perks once on the event, whatever it shows itself', async () => {
    for (const config of [{ autoLoad: false }, {}]) {
      const user = newUser();
      const opened = await stage.open({ user });
      await opened.until('ads_found');
      await box(opened, 0).check();
      await opened.until('usp_selected');
      const { session_id, campaign_ids } = await rowOf(user);
      await opened.page.goto(stage.urlOf({ user: { ...user, placement: 'order-status' }, config }));
      await fire(opened);
      await fire(opened, 'window');
      expect(await opened.until('usp_confirmed')).toEqual({ selected: campaign_ids.slice(0, 1) });
      expect(await deliveriesOf(session_id)).toBe(1);
      expect((await opened.names()).filter((name) => /usp|error/.test(name))).toEqual(['usp_confirmed']);
      expect(await storedSessions(opened)).toEqual(['[]']);
    }
  });

  test('a later page that has its own perks also confirms those of earlier pages', async () => {
    for (const byEvent of [false, true]) {
      const user = newUser();
      const opened = await stage.open({ user });
      const rows: SelectionRow[] = [];
      for (const placement of ['cart', 'checkout', 'thanks']) {
        await opened.page.goto(stage.urlOf({ user: { ...user, placement } }));
        await opened.until('ads_found');
        await box(opened, rows.length).check();
        await opened.until('usp_selected');
        rows.push(await rowOf(user));
      }
      if (byEvent) await fire(opened);
      else expect(await opened.page.evaluate('Ad.confirm()')).toBe(true);
      await opened.until('usp_confirmed', rows.length);
      for (const [index, { session_id, campaign_ids }] of rows.entries()) {
        await expect.poll(() => webhooksOf(session_id).length).toBe(1);
        const { body } = JSON.parse(String(webhooksOf(session_id)[0]?.body));
        expect(body.campaigns.map((campaign: { campaign_id: number }) => campaign.campaign_id)).toEqual([
          campaign_ids[index],
        ]);
      }
      expect(new Set(rows.map(({ session_id }) => session_id)).size).toBe(rows.length);
      expect((await opened.names()).filter((name) => /confirmed|error/.test(name))).toHaveLength(rows.length);
      expect(await storedSessions(opened)).toEqual(['[]']);
    }
  });

  test('every perk is selected from the start with "check all"', async () => {
    await stage.t.pool.query("update themes set usp_check_all = true where unit = 'mou'");
    await stage.t.deps.catalog.refresh();
    const user = newUser();
    const opened = await stage.open({ user });
    await opened.until('ads_found');
    await box(opened, 2).waitFor();
    expect(await Promise.all([0, 1, 2].map((index) => box(opened, index).isChecked()))).toEqual([true, true, true]);
    await box(opened, 1).uncheck();
    await opened.page.evaluate('Ad.confirm()');
    const row = await rowOf(user);
    expect(row.selected).toEqual([row.campaign_ids[0], row.campaign_ids[2]]);
    await stage.t.pool.query("update themes set usp_check_all = false where unit = 'mou'");
    await stage.t.deps.catalog.refresh();
  });

  test('perks that page settings select are sent, and those that the server rejects are deselected', async () => {
    const user = newUser();
    const opened = await stage.open({ user, config: { settings: { usp_all_offers_checked: true } } });
    await box(opened, 2).waitFor();
    expect(await Promise.all([0, 1, 2].map((index) => box(opened, index).isChecked()))).toEqual([true, true, true]);
    const { campaign_ids } = await rowOf(user);
    await expect.poll(async () => (await rowOf(user)).selected).toEqual(campaign_ids);
    await opened.page.route('**/unselect.json*', (route) =>
      route.fulfill({ status: 403, json: {}, headers: { 'access-control-allow-origin': '*' } }),
    );
    await box(opened, 1).click();
    await opened.until('error');
    await expect.poll(() => box(opened, 1).isChecked()).toBe(true);
    await opened.page.evaluate('Ad.confirm()');
    expect(await opened.until('usp_confirmed')).toEqual({ selected: campaign_ids });
    expect((await opened.names()).filter((name) => name === 'error')).toHaveLength(1);
  });

  test("a page's own template shows selected perks, except rejected ones, and none after the end", async () => {
    const template = '<h3 data-ad="title"></h3><input type="checkbox" data-ad-action="select" aria-label="pick">';
    const config = { targetElement: 'perks', template };
    const opened = await stage.open({ user: newUser(), body: '<div id="perks"></div>', config });
    await box(opened, 2).waitFor();
    await opened.page.route('**/select.json*', (route) =>
      route.fulfill({ status: 403, json: {}, headers: { 'access-control-allow-origin': '*' } }),
    );
    await box(opened, 0).click();
    await opened.until('error');
    await expect.poll(() => box(opened, 0).isChecked()).toBe(false);
    await opened.page.unroute('**/select.json*');
    await box(opened, 1).click();
    expect(await opened.page.evaluate('Ad.confirm()')).toBe(true);
    await box(opened, 2).click();
    expect(await Promise.all([0, 1, 2].map((index) => box(opened, index).isChecked()))).toEqual([false, true, false]);
  });

  test('page settings cannot enable perks if the server does not allow them', async () => {
    const settings = { enable_usp: true, multi_offer_unit: true, usp_all_offers_checked: true };
    const opened = await stage.open({ user: { ...newUser(), placement: 'order-status' }, config: { settings } });
    await opened.page.locator('.tile').nth(2).waitFor();
    expect(await opened.page.getByRole('checkbox').count()).toBe(0);
    expect(opened.calls().filter((call) => call.includes('/usp/'))).toEqual([]);
  });

  test('the event that the theme specifies confirms the perks', async () => {
    const user = newUser();
    const opened = await stage.open({ user, config: { settings: { usp_confirmation_event: 'shop:paid' } } });
    await opened.until('ads_found');
    await fire(opened, 'document', 'shop:paid');
    expect(await opened.until('usp_confirmed')).toEqual({ selected: [] });
    const row = await rowOf(user);
    await expect.poll(() => webhooksOf(row.session_id).length).toBe(1);
    expect(JSON.parse(String(webhooksOf(row.session_id)[0]?.body)).body.selected).toBe(0);
  });

  test('confirming without a session emits an error event instead of throwing', async () => {
    const opened = await stage.open({ user: { placement: 'order-status' } });
    await opened.until('ads_found');
    expect(await opened.page.evaluate('Ad.confirm()')).toBe(false);
    expect(await opened.until('error')).toMatchObject({ kind: 'usp_error' });
    expect(opened.problems).toEqual([]);
  });
});
