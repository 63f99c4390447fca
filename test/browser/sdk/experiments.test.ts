import { afterAll, beforeAll, expect, test } from 'vitest';
import { callsOf } from '../../experiments/support.ts';
import { type Stage, startStage } from './support.ts';

let stage: Stage;
let api: ReturnType<typeof callsOf>;
beforeAll(async () => {
  stage = await startStage();
  api = callsOf(stage.t);
});
afterAll(() => stage.close());

const open = (pub_user_id: string) => stage.open({ user: { placement: 'order-status', pub_user_id } });

test('ads_found reports the arms that apply, arm labels are shown, and a hold-out gets no_ads_found', async () => {
  const plain = await (await open('plain')).until('ads_found');
  expect(plain).not.toHaveProperty('experiments');
  await api.start({ key: 'words', arms: [{ key: 'b', share: 1, changes: { labels: { close: 'Not now' } } }] });
  const { page, until } = await open('in-it');
  expect(await until('ads_found')).toMatchObject({ experiments: [{ key: 'words', arm: 'b' }] });
  await until('ad_shown');
  await expect.poll(() => page.getByRole('button', { name: 'Not now' }).count()).toBe(1);
  await api.end();
  await api.start({ key: 'out', holdout: 1 });
  const holdout = await open('held');
  expect(await holdout.until('no_ads_found')).toMatchObject({ experiments: [{ key: 'out', arm: 'holdout' }] });
});
