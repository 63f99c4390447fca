import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CampaignRules } from '../../../src/catalog/rules.ts';
import { targetingSentence } from '../../../src/catalog-admin/pages/campaigns/targeting-sentence.ts';
import { inLanguage } from '../../../src/platform/i18n/reader.ts';
import { signInAs } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t?.close());

const office = { days: [1, 2, 3, 4, 5], from: '09:00', to: '17:00' };

test.each<[CampaignRules, string, string]>([
  [{}, 'Shown to all users.', 'Wird allen Nutzern gezeigt.'],
  [
    {
      targeting: {
        countries: { include: ['DE'] },
        devices: { include: ['mobile'] },
        audiences: { exclude: ['customers'] },
      },
      schedule: { hours: [office] },
    },
    'Shown to users in Germany on mobile, on weekdays 09:00–17:00, not to the audience customers.',
    'Wird Nutzern in Deutschland auf Mobilgeräten gezeigt, montags bis freitags 09:00–17:00 Uhr, nicht der ' +
      'Zielgruppe ' +
      'customers.',
  ],
  [
    { targeting: { countries: { include: ['us', 'CH', 'FR'], exclude: ['GB'] } } },
    'Shown to users in the United States, Switzerland or France, not in the United Kingdom.',
    'Wird Nutzern in den USA, in der Schweiz oder in Frankreich gezeigt, nicht im Vereinigten Königreich.',
  ],
  [
    { targeting: { regions: { exclude: ['US-CA'] }, cities: { exclude: ['Reno'] } } },
    'Shown to all users, not in the region US-CA, not in Reno.',
    'Wird allen Nutzern gezeigt, nicht in der Region US-CA, nicht in Reno.',
  ],
  [
    {
      targeting: {
        audiences: { include: ['buyers', 'guests'] },
        os: { include: ['ios'] },
        browsers: { include: ['safari'] },
        languages: { include: ['de'] },
        placements: { include: ['checkout'] },
      },
    },
    'Shown to users in the audience buyers or guests with iOS with Safari who use German at the placement checkout.',
    'Wird Nutzern der Zielgruppe buyers oder guests mit iOS mit Safari mit der Sprache Deutsch am Anzeigenplatz ' +
      'checkout ' +
      'gezeigt.',
  ],
  [
    { targeting: { countries: { include: ['DE', 'AT', 'CH', 'FR', 'ES'] } } },
    'Shown to users in Germany, Austria, Switzerland or 2 others.',
    'Wird Nutzern in Deutschland, in Österreich, in der Schweiz oder 2 weiteren gezeigt.',
  ],
  [
    {
      schedule: { hours: [office, { days: [7, 6], from: '00:00', to: '24:00' }] },
      without_identity: 'withhold',
      conditions: { key: 'plan', op: 'equals', value: 'gold' },
    },
    'Shown to all users, on weekdays 09:00–17:00 and at weekends, if plan is gold, only if the user is known.',
    'Wird allen Nutzern gezeigt, montags bis freitags 09:00–17:00 Uhr und am Wochenende, wenn gilt: plan ist gold, ' +
      'nur ' +
      'wenn der Nutzer bekannt ist.',
  ],
  [
    {
      schedule: { hours: [office, office, office] },
      conditions: {
        any: [
          { key: 'plan', op: 'exists' },
          {
            all: [
              { key: 'age', op: 'gt', value: 3 },
              { key: 'plan', op: 'prefix', value: 'g' },
            ],
          },
        ],
      },
    },
    'Shown to all users, in 3 time windows per week, depending on plan or age.',
    'Wird allen Nutzern gezeigt, in 3 Zeitfenstern pro Woche, abhängig von plan oder age.',
  ],
])('a sentence says to whom a campaign is shown: %j', (rules, english, german) => {
  expect([inLanguage('en', () => targetingSentence(rules)), inLanguage('de', () => targetingSentence(rules))]).toEqual([
    english,
    german,
  ]);
});

test('the sentence is on the campaign page, in the list and, for entered values, in the editor', async () => {
  const user = await signInAs(t, 'manager');
  const base = `/dashboard/p/${t.publisher.id}/campaigns`;
  const rules = { targeting: { cities: { include: ['<b>Reno</b>'] } } };
  await t.pool.query('update campaigns set rules = $1 where id = 3', [rules]);
  const expected = 'Shown to users in &lt;b&gt;Reno&lt;/b&gt;.';
  expect((await user.get(`${base}/3`)).body).toContain(expected);
  expect((await user.get(base)).body).toContain(expected);
  const estimate = (fields: Record<string, string>) => user.post(`${base}/estimate?edit=targeting`, fields);
  expect((await estimate({ 'rules.targeting.countries.include': 'FR' })).body).toContain('Shown to users in France.');
  expect((await estimate({ 'rules.targeting.countries.include': 'Nowhere' })).body).not.toContain('Shown to');
});
