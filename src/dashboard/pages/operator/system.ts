import { createFailFast } from '../../../platform/db/fail-fast.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { badge, card, facts, table } from '../../shell/components.ts';
import { count, moment, utc } from '../../shell/format.ts';
import { commonPages, type Tools } from '../../shell/pages.ts';
import { readSystem, type SystemState } from './system-state.ts';

/** For operators: health, queues, partitions, and which configuration each process serves. */
export function systemPages(app: App, tools: Tools): void {
  const { pool, dbHealth, now } = tools.deps;
  const pages = commonPages(app, tools);
  const guarded = createFailFast(dbHealth);

  pages.get('/operator/system', 'operator', async ({ path }) => {
    const state = await guarded(() => readSystem(pool, now()));
    return {
      title: 'System',
      lead: 'All processes on this database. Renews itself every five seconds; times are UTC.',
      nav: 'system',
      body: html`<div id="system" hx-get="${path('/operator/system')}" hx-select="#system" hx-swap="outerHTML" hx-trigger="every 5s">${parts(state)}</div>`,
    };
  });
}

function parts(state: SystemState): Html {
  const waiting = state.queues.reduce((sum, queue) => sum + queue.waiting, 0);
  const due = state.queues.reduce((sum, queue) => sum + queue.due, 0);
  const running = state.processes.filter(({ present }) => present);
  return html`${card(
    'Health',
    facts([
      ['Database', html`${badge('answers', 'good')} PostgreSQL ${state.database.version}`],
      ['Size', bytes(state.database.bytes)],
      [
        'Processes',
        html`${running.length}${running.some(({ roles }) => roles.includes('worker')) ? nothing : html` ${badge('no worker', 'bad')}`}`,
      ],
      ['Deliveries waiting', count(waiting)],
      ['Due now', count(due)],
      ['Configuration', `version ${state.catalogVersion}`],
    ]),
  )}
<h2 class="section">Processes</h2>
${table(
  'Processes',
  [
    { text: 'Process' },
    { text: 'Roles' },
    { text: 'Configuration', numeric: true },
    { text: 'Since' },
    { text: 'State' },
  ],
  state.processes.map((one) => [
    html`<strong>${one.host}</strong> <span class="hint">${one.pid}</span>`,
    one.roles.join(', '),
    html`${one.catalogVersion}${one.catalogVersion === state.catalogVersion ? nothing : html` ${badge('behind', 'warn')}`}`,
    moment(utc, one.startedAt),
    one.present
      ? badge('Runs', 'good')
      : html`${badge('Silent', 'bad')} <span class="hint">since ${moment(utc, one.seenAt, 'second')}</span>`,
  ]),
)}
<h2 class="section">Queue of deliveries</h2>
${table(
  'Queue',
  [{ text: 'Lane' }, { text: 'Waiting', numeric: true }, { text: 'Due now', numeric: true }],
  (state.queues.length === 0 ? [{ lane: 'live', waiting: 0, due: 0 }] : state.queues).map((queue) => [
    queue.lane,
    count(queue.waiting),
    count(queue.due),
  ]),
)}
<h2 class="section">Partitions</h2>
${table(
  'Partitions',
  [
    { text: 'Table' },
    { text: 'Days', numeric: true },
    { text: 'First' },
    { text: 'Last' },
    { text: 'Size', numeric: true },
  ],
  state.partitions.map((one) => [
    html`<code>${one.table}</code>`,
    one.count,
    day(one.first),
    day(one.last),
    bytes(one.bytes),
  ]),
)}`;
}

/** `20261121` as `2026-11-21`. */
const day = (text: string): string => text.replace(/^(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3');

function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
  return `${(value / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
