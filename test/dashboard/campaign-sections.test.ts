import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { campaignRules } from '../../src/catalog/rules.ts';
import { campaigns } from '../../src/catalog-admin/resources/campaigns.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { timeLimit } from '../support/time-limit.ts';
import { csrfIn, errorsIn, origin, signInAs, type TestUser } from './support.ts';

let t: TestApp;
let admin: TestUser;
let page: string;
beforeAll(async () => {
  t = await createTestApp();
  admin = await signInAs(t, 'admin');
  page = `/dashboard/p/${t.publisher.id}/campaigns/3`;
});
afterAll(() => t?.close());

type Field = { name: string; kind: string; values: string[]; options: string[] };
type Form = { action: string; fields: Map<string, Field> };

const decoded = (text: string): string =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

const attribute = (tag: string, name: string): string =>
  decoded(new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? '');

/** Reads the form of a section as a browser would submit it. */
async function openForm(section: string): Promise<Form> {
  const { body, statusCode } = await admin.get(`${page}?edit=${section}`);
  expect(statusCode, section).toBe(200);
  return formIn(body, section);
}

function formIn(body: string, section: string): Form {
  const at = body.indexOf(`id="${section}"`);
  const markup = body.slice(body.indexOf('<form', at), body.indexOf('</form>', at));
  const fields = new Map<string, Field>();
  const fieldOf = (tag: string, kind: string): Field => {
    const name = attribute(tag, 'name');
    const field = fields.get(name) ?? { name, kind, values: [], options: [] };
    fields.set(name, field);
    return field;
  };
  for (const [tag, element = '', content = ''] of markup.matchAll(
    /<(select|textarea)\s[^>]*>([\s\S]*?)<\/\1>|<input\s[^>]*>/g,
  )) {
    const head = tag.slice(0, tag.indexOf('>') + 1);
    const field = fieldOf(head, element === '' ? attribute(head, 'type') : element);
    if (element === 'textarea') field.values = [decoded(content).replace(/^\n/, '')];
    else if (element === 'select') {
      const options = [...content.matchAll(/<option value="([^"]*)"( selected)?/g)];
      field.options = options.map(([, value = '']) => decoded(value));
      field.values = [decoded((options.find(([, , selected]) => selected) ?? options[0])?.[1] ?? '')];
    } else if (field.kind === 'checkbox') {
      field.options.push(attribute(head, 'value'));
      if (/\schecked/.test(head)) field.values.push(attribute(head, 'value'));
    } else field.values = [attribute(head, 'value')];
  }
  return { action: attribute(/<form[^>]*>/.exec(markup)?.[0] ?? '', 'action'), fields };
}

const submit = ({ action, fields }: Form, more: Record<string, string> = {}) =>
  t.app.inject({
    method: 'POST',
    url: action,
    headers: { origin, cookie: admin.cookie, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams([
      ...[...fields.values()].flatMap(({ name, values }) => values.map((value): [string, string] => [name, value])),
      ...Object.entries(more),
    ]).toString(),
  });

/** Returns the fields that a user can edit. */
const editable = ({ fields }: Form): Field[] => [...fields.values()].filter(({ kind }) => kind !== 'hidden');

const valuesOf = (form: Form) => Object.fromEntries(editable(form).map(({ name, values }) => [name, values]));

/** Valid values that differ from those of the demo, for fields whose text has a format. */
const samples: Readonly<Record<string, string>> = {
  name: 'Another name',
  category: 'Travel',
  tags: 'spring, summer',
  landing_url: 'https://elsewhere.example/?c={click_id}',
  click_id_param: 'cid',
  payout_amount: '1.25',
  payout_currency: 'CHF',
  priority: '7',
  weight: '9',
  opt_out_days: '11',
  overspend_percent: '12',
  'goal.count': '500',
  'goal.by': '2031-05-06T07:08',
  'rules.schedule.start_at': '2030-01-02T03:04',
  'rules.schedule.end_at': '2030-02-03T04:05',
  'rules.schedule.time_zone': 'Asia/Tokyo',
  'rules.targeting.countries.include': 'DE, FR',
  'rules.targeting.countries.exclude': 'US',
  'rules.targeting.regions.include': 'DE-BY',
  'rules.targeting.regions.exclude': 'US-CA',
  'rules.targeting.audiences.include': 'buyers',
  'rules.targeting.audiences.exclude': 'guests',
  'rules.targeting.languages.include': 'de',
  'rules.targeting.languages.exclude': 'pt-BR',
};

/** Changes a field as a user would. */
function change(field: Field): void {
  const { kind, name, options, values } = field;
  const other = (first: string, second: string): string => (values[0]?.includes(first) ? second : first);
  if (kind === 'checkbox' && options.length === 1) field.values = values.length > 0 ? [] : options;
  else if (kind === 'checkbox' || kind === 'select')
    field.values = [options.find((option) => option !== '' && !values.includes(option)) ?? ''];
  else if (/\.(from|to)$/.test(name)) field.values = [`${name.endsWith('from') ? '08' : '21'}:${other('15', '45')}`];
  else if (/\.(limit|window_minutes)$/.test(name)) field.values = [other('5', '6')];
  else if (/conditions\.groups.*\.value$/.test(name)) field.values = [other('gold', 'silver')];
  else if (/conditions\.groups.*\.key$/.test(name)) field.values = [other('plan', 'tier')];
  else field.values = [samples[name] ?? (name.endsWith('exclude') ? 'nowhere' : 'elsewhere')];
}

/** Fields that are only valid with others: the goal is complete or empty. */
const partners: readonly (readonly string[])[] = [['goal.metric', 'goal.count', 'goal.by']];
const withPartners = (name: string): readonly string[] => partners.find((group) => group.includes(name)) ?? [name];

const sections = ['basics', 'landing', 'payout', 'schedule', 'budget', 'targeting', 'users', 'priority'];

const rowButtons: Readonly<Record<string, readonly string[]>> = {
  schedule: ['rules.schedule.exact.0.from'],
  budget: ['rules.total_caps.0.limit'],
  users: ['rules.conditions.groups.0.rows.0.key', 'rules.frequency_caps.0.limit'],
};

/** Adds a row to each list of a section, and fills it in. */
async function openWithRows(section: string): Promise<Form> {
  let form = await openForm(section);
  for (const first of rowButtons[section] ?? []) {
    if (form.fields.has(first)) continue;
    const answer = await submit(form, { _rows: `add ${first}` });
    form = formIn(answer.body, section);
    const row = first.slice(0, first.lastIndexOf('.'));
    for (const field of form.fields.values())
      if (field.name.startsWith(row) && !field.name.endsWith('unit') && field.kind !== 'select') change(field);
  }
  return form;
}

async function save(form: Form, of: string): Promise<void> {
  const answer = await submit(form);
  expect(answer.statusCode, `${of}: ${errorsIn(answer.body).join()}`).toBe(303);
}

/** Restores the original campaign, regardless of what was saved. */
async function reset(row: Record<string, unknown>): Promise<void> {
  const names = Object.keys(campaigns.input.properties);
  await t.pool.query(
    `update campaigns set ${names.map((name, at) => `${name} = $${at + 2}`).join(', ')} where id = $1`,
    [3, ...names.map((name) => (typeof row[name] === 'object' && name !== 'tags' ? json(row[name]) : row[name]))],
  );
}

const json = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

const stored = async (): Promise<Record<string, unknown>> =>
  (await t.pool.query('select * from campaigns where id = 3')).rows[0];

describe('the sections of a campaign', () => {
  beforeAll(async () => {
    for (const key of ['buyers', 'guests'])
      await admin.post(`/dashboard/p/${t.publisher.id}/audiences`, { key, name: key });
    for (const section of sections) {
      const form = await openWithRows(section);
      await save(form, section);
    }
  });

  test('together edit every column and every rule of a campaign', async () => {
    const before = await stored();
    const changed = new Set<string>();
    for (const section of sections) {
      const form = await openForm(section);
      for (const field of editable(form)) change(field);
      await save(form, section);
    }
    const after = await stored();
    for (const name of Object.keys(campaigns.input.properties))
      if (JSON.stringify(before[name]) !== JSON.stringify(after[name])) changed.add(name);
    expect([...changed].sort()).toEqual(Object.keys(campaigns.input.properties).sort());
    expect(Object.keys(after.rules as object).sort()).toEqual(Object.keys(campaignRules.properties).sort());
    await reset(before);
  });

  // Long timeout: every field is saved alone and with every other field of its section.
  test.each(sections)(
    '%s: every field keeps what was entered, alone and in pairs',
    {
      timeout: timeLimit(180_000),
    },
    async (section) => {
      const before = await stored();
      const names = editable(await openForm(section)).map(({ name }) => name);
      const pairs = names.flatMap((first, at) => [[first], ...names.slice(at + 1).map((second) => [first, second])]);
      for (const pair of pairs) {
        const form = await openForm(section);
        const edited = new Set(pair.flatMap(withPartners));
        for (const name of edited) change(form.fields.get(name) as Field);
        const entered = valuesOf(form);
        await save(form, pair.join(' and '));
        const savedValues = valuesOf(await openForm(section));
        expect(normalised(savedValues), pair.join(' and ')).toEqual(normalised(entered));
        const after = await stored();
        for (const name of Object.keys(before))
          if (!columnsOf(section).includes(name)) expect([name, after[name]]).toEqual([name, before[name]]);
        await reset(before);
      }
    },
  );
});

/** Columns that a section can change. */
function columnsOf(section: string): string[] {
  const columns: Readonly<Record<string, string[]>> = {
    basics: ['name', 'advertiser_id', 'active', 'category', 'tags', 'offer_description', 'is_product', 'is_loyalty'],
    landing: ['landing_url', 'click_id_param'],
    payout: ['payout_kind', 'payout_amount', 'payout_currency'],
    schedule: ['rules'],
    budget: ['rules', 'overspend_percent', 'goal', 'goal_since'],
    targeting: ['rules'],
    users: ['rules', 'opt_out_days'],
    priority: ['rules', 'priority', 'weight', 'ranking'],
  };
  return [...(columns[section] ?? []), 'updated_at', 'activated_at'];
}

/** A condition without a value, and the order of hours, are not significant. */
const normalised = (values: Record<string, string[]>) =>
  Object.fromEntries(Object.entries(values).map(([name, list]) => [name, [...list].sort()]));

describe('a section of a campaign', () => {
  test('saves only its own part of the rules', async () => {
    const form = await openForm('targeting');
    const before = (await stored()).rules as Record<string, unknown>;
    (form.fields.get('rules.targeting.devices.include') as Field).values = ['mobile'];
    await save(form, 'targeting');
    const { targeting, ...others } = (await stored()).rules as Record<string, unknown>;
    const { targeting: _before, ...othersBefore } = before;
    expect(targeting).toMatchObject({ devices: { include: ['mobile'] } });
    expect(others).toEqual(othersBefore);
  });

  test('is opened again with the entered values if they are not valid', async () => {
    const form = await openForm('landing');
    (form.fields.get('landing_url') as Field).values = ['ftp://elsewhere'];
    const answer = await submit(form);
    expect(answer.statusCode).toBe(422);
    expect(errorsIn(answer.body)).toHaveLength(1);
    expect(valuesOf(formIn(answer.body, 'landing')).landing_url).toEqual(['ftp://elsewhere']);
  });

  test('does not overwrite another section that a colleague has changed in the meantime', async () => {
    const colleague = await openForm('schedule');
    const mine = await openForm('targeting');
    (colleague.fields.get('rules.schedule.end_at') as Field).values = ['2032-03-04T05:06'];
    await save(colleague, 'schedule');
    (mine.fields.get('rules.targeting.cities.include') as Field).values = ['Lyon'];
    const conflict = await submit(mine);
    expect(conflict.statusCode).toBe(409);
    expect(conflict.body).toContain('This has changed since you opened the page');
    await save(formIn(conflict.body, 'targeting'), 'targeting');
    expect((await stored()).rules).toMatchObject({
      schedule: { end_at: expect.stringContaining('2032-03-04') },
      targeting: { cities: { include: ['Lyon'] } },
    });
  });

  test('shows what was saved and an undo button next to it', async () => {
    const form = await openForm('payout');
    const before = (await stored()).payout_amount;
    (form.fields.get('payout_amount') as Field).values = ['4.5'];
    const saved = await submit(form);
    expect(saved.headers.location).toBe(`${page}#payout`);
    const flash = saved.cookies.find(({ name }) => name === 'perkwire_flash')?.value ?? '';
    const { body } = await admin.get(page, { cookie: `${admin.cookie}; perkwire_flash=${flash}` });
    const part = body.slice(body.indexOf('id="payout"'), body.indexOf('id="schedule"'));
    expect(part).toContain('Payout saved.');
    const undo = /action="([^"]+\/undo)"/.exec(part)?.[1] ?? '';
    const fields = Object.fromEntries(
      [...part.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    );
    expect((await admin.post(undo, { ...fields, _csrf: csrfIn(body) })).headers.location).toBe(`${page}#payout`);
    expect((await stored()).payout_amount).toBe(before);
  });

  test('is not found under another name, and a form without a section saves nothing', async () => {
    expect((await admin.get(`${page}?edit=elsewhere`)).statusCode).toBe(404);
    expect((await admin.post(`${page}?edit=offers`, { name: 'X' })).statusCode).toBe(404);
    expect((await admin.post(page, { name: 'X' })).statusCode).toBe(404);
  });

  test('shows its values to an analyst, but no button that saves', async () => {
    const analyst = await signInAs(t, 'analyst');
    const { body } = await analyst.get(`${page}?edit=priority`);
    expect(body).toContain('To change it, you need the role');
    expect(body.slice(body.indexOf('id="priority"'))).toContain('disabled');
    expect((await analyst.get(page)).body).toContain('View: Targeting');
    expect((await analyst.post(`${page}?edit=payout`, { payout_amount: '1' })).statusCode).toBe(403);
  });
});

describe('a new campaign', () => {
  const base = () => `/dashboard/p/${t.publisher.id}`;
  const fields = { advertiser_id: '1', name: 'Five fields', payout_kind: 'cpc', payout_amount: '0.5' };

  test("starts with the publisher's currency and the other defaults", async () => {
    await t.pool.query("update publishers set reporting_currency = 'SEK' where id = $1", [t.publisher.id]);
    await t.deps.catalog.refresh();
    const { body } = await admin.get(`${base()}/campaigns/new`);
    expect(body).toMatch(/name="payout_currency"[^>]* value="SEK"/);
    expect(body).toContain('data-preview=');
    const url = 'https://five.example/';
    const saved = await admin.post(`${base()}/campaigns`, { ...fields, landing_url: url, payout_currency: 'SEK' });
    expect(saved.headers.location).toMatch(/\/offers\/new\?campaign_id=\d+$/);
    const { rows } = await t.pool.query("select * from campaigns where name = 'Five fields'");
    expect(rows[0]).toMatchObject({
      active: true,
      priority: 100,
      ranking: 'learned',
      click_id_param: 'click_id',
      rules: {},
      payout_currency: 'SEK',
    });
  });

  test('is saved together with its first offer, or not at all', async () => {
    const campaign = { ...fields, name: 'With an offer', landing_url: 'https://five.example/', payout_currency: 'SEK' };
    const offer = { title: 'Ten off', description: 'All boxes', cta_yes: 'Yes', cta_no: 'No' };
    const refused = await admin.post(`${base()}/campaigns`, { ...campaign, ...offer, title: 'x'.repeat(200) });
    expect(refused.statusCode).toBe(422);
    const wrong = { landing_url: 'five.example', title: 'x'.repeat(200) };
    const both = await admin.post(`${base()}/campaigns`, { ...campaign, ...offer, ...wrong });
    expect(both.body).toContain('Fix 2 errors');
    const count = () => t.pool.query("select id from campaigns where name = 'With an offer'");
    expect((await count()).rowCount).toBe(0);
    const saved = await admin.post(`${base()}/campaigns`, { ...campaign, ...offer });
    expect(saved.headers.location).toMatch(/\/campaigns\/\d+$/);
    const id = (await count()).rows[0].id;
    const { rows } = await t.pool.query('select title, cta_yes, active from offers where campaign_id = $1', [id]);
    expect(rows).toEqual([{ title: 'Ten off', cta_yes: 'Yes', active: true }]);
    expect((await admin.get(String(saved.headers.location))).body).toContain('Ten off');
  });

  test('is saved without its offer if new offers need approval, and the offer becomes a draft', async () => {
    await t.pool.query('update publishers set approval_required = true where id = $1', [t.publisher.id]);
    const manager = await signInAs(t, 'manager');
    const campaign = { ...fields, name: 'Waits', landing_url: 'https://five.example/', payout_currency: 'SEK' };
    const saved = await manager.post(`${base()}/campaigns`, { ...campaign, title: 'Ten off', cta_yes: 'Yes' });
    expect(saved.headers.location).toMatch(/\/drafts\/\d+$/);
    const { rows } = await t.pool.query("select id from campaigns where name = 'Waits'");
    const drafts = await t.pool.query('select changes from drafts where campaign_id = $1', [rows[0].id]);
    expect(drafts.rows).toMatchObject([{ changes: { title: 'Ten off', campaign_id: rows[0].id } }]);
    await t.pool.query('update publishers set approval_required = false where id = $1', [t.publisher.id]);
  });
});

describe('the overview of a campaign', () => {
  test('pauses and resumes the campaign', async () => {
    expect((await admin.get(page)).body).toMatch(/action="[^"]+\/campaigns\/3\/active"/);
    for (const active of ['no', 'yes']) {
      expect((await admin.post(`${page}/active`, { active })).headers.location).toBe(page);
      expect((await stored()).active).toBe(active === 'yes');
    }
  });

  test('says that a campaign without an active offer is not shown', async () => {
    const text = 'This campaign is not shown because it has no active offer.';
    expect((await admin.get(page)).body).not.toContain(text);
    await t.pool.query('update offers set active = false where campaign_id = 3');
    await t.deps.catalog.refresh();
    expect((await admin.get(page)).body).toContain(text);
    await t.pool.query('update offers set active = true where campaign_id = 3');
    await t.deps.catalog.refresh();
  });
});
