import { createFailFast } from '../../../platform/db/fail-fast.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { badge, type Cell, card, descriptionList, table } from '../../shell/components.ts';
import { count, moment, utc } from '../../shell/format.ts';
import { commonPages, type PageServices } from '../../shell/pages.ts';
import { type Partitions, type Queue, type RunningProcess, readSystem, type SystemState } from './system-state.ts';

/** Health, processes, queues and partitions, for operators. */
export function systemPages(app: App, services: PageServices): void {
  const { pool, dbHealth, now } = services.deps;
  const pages = commonPages(app, services);
  const failFast = createFailFast(dbHealth);
  pages.get('/operator/system', 'operator', async ({ path }) => {
    const state = await failFast(() => readSystem(pool, now()));
    return {
      title: 'System',
      lead: 'All processes on this database. Refreshes every 5 seconds. Times in UTC.',
      nav: 'system',
      body: html`
        <div id="system" hx-get="${path('/operator/system')}" hx-select="#system" hx-swap="outerHTML"
          hx-trigger="every 5s">
          ${healthCard(state)}
          ${section(
            'Processes',
            processColumns,
            state.processes.map((one) => processCells(one, state.catalogVersion)),
          )}
          ${section('Delivery queue', queueColumns, queuesOf(state).map(queueCells))}
          ${section('Partitions', partitionColumns, state.partitions.map(partitionCells))}
        </div>`,
    };
  });
}

function healthCard({ database, processes, queues, catalogVersion }: SystemState): Html {
  const sum = (name: 'waiting' | 'due'): string => count(queues.reduce((total, queue) => total + queue[name], 0));
  const running = processes.filter(({ isRunning }) => isRunning);
  const hasWorker = running.some(({ roles }) => roles.includes('worker'));
  return card(
    'Health',
    descriptionList([
      ['Database', html`${badge('available', 'good')} PostgreSQL ${database.version}`],
      ['Database size', bytes(database.bytes)],
      ['Processes', html`${running.length} ${!hasWorker && badge('no worker', 'bad')}`],
      ['Pending deliveries', sum('waiting')],
      ['Due now', sum('due')],
      ['Catalogue version', catalogVersion],
    ]),
  );
}

const section = (title: string, columns: Parameters<typeof table>[1], rows: readonly Cell[][]): Html => html`
  <h2 class="section">${title}</h2>
  ${table(title, columns, rows)}`;

const processColumns = [
  { text: 'Process' },
  { text: 'Roles' },
  { text: 'Catalogue version', numeric: true },
  { text: 'Started' },
  { text: 'Status' },
];

const processCells = (one: RunningProcess, catalogVersion: number): Cell[] => [
  html`<strong>${one.host}</strong> <span class="hint">${one.pid}</span>`,
  one.roles.join(', '),
  html`${one.catalogVersion} ${one.catalogVersion !== catalogVersion && badge('behind', 'warn')}`,
  moment(utc, one.startedAt),
  one.isRunning
    ? badge('Running', 'good')
    : html`${badge('Not responding', 'bad')} <span class="hint">since ${moment(utc, one.seenAt, 'second')}</span>`,
];

const queueColumns = [{ text: 'Lane' }, { text: 'Pending', numeric: true }, { text: 'Due now', numeric: true }];

/** An empty queue has no rows. */
const queuesOf = ({ queues }: SystemState): Queue[] =>
  queues.length === 0 ? [{ lane: 'live', waiting: 0, due: 0 }] : queues;

const queueCells = ({ lane, waiting, due }: Queue): Cell[] => [lane, count(waiting), count(due)];

const partitionColumns = [
  { text: 'Table' },
  { text: 'Days', numeric: true },
  { text: 'First' },
  { text: 'Last' },
  { text: 'Size', numeric: true },
];

const partitionCells = (one: Partitions): Cell[] => [
  html`<code>${one.table}</code>`,
  one.count,
  isoDay(one.first),
  isoDay(one.last),
  bytes(one.bytes),
];

/** `20261121` as `2026-11-21`. */
const isoDay = (text: string): string => text.replace(/^(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3');

function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
  return `${(value / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
