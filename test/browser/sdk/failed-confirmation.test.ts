import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenPage, type Stage, startStage } from './support.ts';

let stage: Stage;
let users = 0;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.close());

type Perks = { ids: number[]; selected: number[]; wrapped: boolean };

async function perksOf(user: { pub_user_id: string }): Promise<Perks> {
  const { rows } = await stage.t.pool.query('select id, campaign_ids from sessions where pub_user_id = $1', [
    user.pub_user_id,
  ]);
  const [{ id, campaign_ids: ids }] = rows;
  const query = `api_key=demo-key&pub_user_id=${user.pub_user_id}`;
  const answer = await fetch(`${stage.url}/sdk/v4/usp/session/${id}.json?${query}`);
  const { data } = (await answer.json()) as { data: { selected: number[]; status: string } };
  return { ids, selected: data.selected, wrapped: data.status === 'wrapped' };
}

const newUser = () => ({ placement: 'checkout', pub_user_id: `failed-${++users}` });
const firstBox = ({ page }: OpenPage) => page.getByRole('checkbox').first();
const refusal = { json: {}, headers: { 'access-control-allow-origin': '*' } };
const leave = ({ page }: OpenPage) => page.evaluate('window.dispatchEvent(new Event("pagehide"))');

test('leaving the page retries a failed confirmation', async () => {
  const user = newUser();
  const opened = await stage.open({ user });
  await opened.until('ads_found');
  await opened.page.route('**/sdk/v4/usp/session/*', (route) => {
    const isOfLeaving = route.request().postDataJSON()?.selected !== undefined;
    return isOfLeaving ? route.continue() : route.fulfill({ status: 503, ...refusal });
  });
  await opened.page.evaluate('void Ad.confirm()');
  await expect
    .poll(async () => {
      await leave(opened);
      return (await perksOf(user)).wrapped;
    })
    .toBe(true);
});

test('perks selected after a failed confirmation are sent when the user leaves the page', async () => {
  const user = newUser();
  const opened = await stage.open({ user });
  await opened.until('ads_found');
  await opened.page.route('**/sdk/v4/usp/session/*', (route) =>
    route.request().method() === 'POST' ? route.fulfill({ status: 403, ...refusal }) : route.continue(),
  );
  await opened.page.route('**/sdk/v4/usp/*/*/select.json*', () => {});
  expect(await opened.page.evaluate('Ad.confirm()')).toBe(false);
  await firstBox(opened).check();
  await leave(opened);
  const { ids } = await perksOf(user);
  await expect.poll(async () => (await perksOf(user)).selected).toEqual(ids.slice(0, 1));
});

async function confirmInVain({ page }: OpenPage): Promise<void> {
  await page.evaluate('void Ad.confirm().then((result) => { window.confirmed = result; })');
  await expect
    .poll(async () => {
      await page.clock.fastForward(10_000);
      return page.evaluate('window.confirmed');
    })
    .toBe(false);
}

test('selections unsent after a failed confirmation are sent once the service is available again', async () => {
  const user = newUser();
  const opened = await stage.open({ user });
  await opened.until('ads_found');
  await opened.page.clock.install();
  await opened.page.route('**/sdk/v4/usp/**', (route) => route.fulfill({ status: 503, ...refusal }));
  await firstBox(opened).check();
  await confirmInVain(opened);
  await opened.page.unroute('**/sdk/v4/usp/**');
  const { ids } = await perksOf(user);
  await expect
    .poll(async () => {
      await opened.page.clock.fastForward(3000);
      return (await perksOf(user)).selected;
    })
    .toEqual(ids.slice(0, 1));
});

test('destroy() stops a later page from retrying a failed confirmation', async () => {
  const user = newUser();
  const opened = await stage.open({ user });
  await opened.until('ads_found');
  await opened.page.route('**/sdk/v4/usp/**', (route) => route.fulfill({ status: 503, ...refusal }));
  await firstBox(opened).check();
  await opened.until('usp_selected');
  await opened.page.goto(stage.urlOf({ user: { ...user, placement: 'order-status' }, config: { autoLoad: false } }));
  await opened.page.clock.install();
  await confirmInVain(opened);
  const sent = () => opened.calls().filter((call) => call.startsWith('PUT ')).length;
  const before = sent();
  expect(before).toBeGreaterThan(0);
  await opened.page.evaluate('Ad.destroy()');
  await leave(opened);
  await opened.page.evaluate('fetch("/later")');
  expect(sent()).toBe(before);
});
