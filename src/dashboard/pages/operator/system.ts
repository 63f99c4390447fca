import type { FeedState } from '../../../accounts/audit-feed.ts';
import type { LearningState } from '../../../learning/health.ts';
import { createFailFast } from '../../../platform/db/health.ts';
import type { ReplicaState } from '../../../platform/db/replica.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { badge, type Cell, card, descriptionList, table } from '../../../shell/components.ts';
import { byteSize, count, moment, utc } from '../../../shell/format.ts';
import { commonPages } from '../../../shell/pages.ts';
import { type Partitions, type Queue, type RunningProcess, readSystem, type SystemState } from '../../system-state.ts';
import type { PageServices } from '../services.ts';

/** Registers the system page for operators: health, processes, queues and partitions. */
export function systemPages(app: App, services: PageServices): void {
  const { pool, dbHealth, now, config, replica } = services.deps;
  const sendsSyslog = config.auditSyslog !== null;
  const pages = commonPages(app, services);
  const failFast = createFailFast(dbHealth);
  pages.get('/operator/system', 'operator', async ({ path }) => {
    const state = await failFast(() => readSystem(pool, now()));
    return {
      title: t('nav.system'),
      lead: t('operator.systemLead'),
      nav: 'system',
      body: html`
        <div id="system" hx-get="${path('/operator/system')}" hx-select="#system" hx-swap="outerHTML"
          hx-trigger="every 5s">
          ${healthCard(sendsSyslog ? state : { ...state, syslog: null }, replica?.state() ?? null)}
          ${section(
            'processes',
            processColumns(),
            state.processes.map((running) => processCells(running, state.catalogVersion)),
          )}
          ${section('queue', queueColumns(), queuesOf(state).map(queueCells))}
          ${section('partitions', partitionColumns(), state.partitions.map(partitionCells))}
        </div>`,
    };
  });
}

function healthCard(
  { database, processes, queues, catalogVersion, syslog, learning }: SystemState,
  replica: ReplicaState | null,
): Html {
  const sum = (name: 'waiting' | 'due'): string => count(queues.reduce((total, queue) => total + queue[name], 0));
  const running = processes.filter(({ isRunning }) => isRunning);
  const hasWorker = running.some(({ roles }) => roles.includes('worker'));
  return card(
    t('operator.health'),
    descriptionList([
      [
        t('operator.database'),
        html`${badge(t('operator.available'), 'good')} ${t('operator.postgres', { version: database.version })}`,
      ],
      [t('operator.databaseSize'), byteSize(database.bytes)],
      ...(replica === null ? [] : [[t('operator.reports'), replicaState(replica)] as const]),
      [t('operator.processes'), html`${running.length} ${!hasWorker && badge(t('operator.noWorker'), 'bad')}`],
      [t('operator.pendingDeliveries'), sum('waiting')],
      [t('operator.dueNow'), sum('due')],
      [t('operator.catalogueVersion'), catalogVersion],
      [t('operator.ranking'), rankingState(learning)],
      ...(syslog === null ? [] : [[t('operator.syslog'), syslogState(syslog)] as const]),
    ]),
  );
}

function replicaState({ problem, asOfMs }: ReplicaState): Html {
  const text = problem === null ? t('operator.replicaUsed') : t(`operator.replica_${problem}`);
  const asOf = asOfMs !== null && tHtml('operator.replicaAsOf', { time: moment(utc, new Date(asOfMs), 'second') });
  return html`${badge(text, problem === null ? 'good' : 'bad')} ${asOf}`;
}

function rankingState({ version, learnedAt, stalledPublisherIds }: LearningState): Html {
  const since = learnedAt !== null && tHtml('operator.since', { time: moment(utc, learnedAt, 'second') });
  if (stalledPublisherIds.length > 0) return html`${badge(t('operator.rankingStalled'), 'bad')} ${since}`;
  if (version === 0) return html`${t('operator.rankingIdle')}`;
  return html`${badge(t('operator.rankingLearns'), 'good')} ${t('operator.rankingVersion', { version })}`;
}

const syslogState = ({ waiting, failedAt, error }: FeedState): Html =>
  failedAt === null
    ? html`${badge(t('operator.syslogSent'), 'good')} ${waiting > 0 && t('operator.syslogWaiting', { count: waiting })}`
    : html`
      ${badge(t('operator.syslogFails'), 'bad')} ${tHtml('operator.since', { time: moment(utc, failedAt, 'second') })}
      ${t('operator.syslogWaiting', { count: waiting })} <span class="hint">${error}</span>`;

type Section = 'processes' | 'queue' | 'partitions';

function section(name: Section, columns: Parameters<typeof table>[1], rows: readonly Cell[][]): Html {
  const title = t(`operator.${name}`);
  return html`<h2 class="section">${title}</h2>${table(title, columns, rows, name)}`;
}

const processColumns = () => [
  { text: t('operator.process') },
  { text: t('operator.roles') },
  { text: t('operator.catalogueVersion'), numeric: true },
  { text: t('operator.started') },
  { text: t('common.status') },
];

const processCells = (running: RunningProcess, catalogVersion: number): Cell[] => [
  html`<strong>${running.host}</strong> <span class="hint">${running.pid}</span>`,
  running.roles.join(', '),
  html`${running.catalogVersion} ${running.catalogVersion !== catalogVersion && badge(t('operator.behind'), 'warn')}`,
  moment(utc, running.startedAt),
  running.isRunning
    ? badge(t('operator.running'), 'good')
    : html`
      ${badge(t('operator.notResponding'), 'bad')}
      <span class="hint">${tHtml('operator.since', { time: moment(utc, running.seenAt, 'second') })}</span>`,
];

const queueColumns = () => [
  { text: t('operator.lane') },
  { text: t('operator.pending'), numeric: true },
  { text: t('operator.dueNow'), numeric: true },
];

/** Returns the delivery queues to display. Empty queues have no database rows, so they are added here. */
const queuesOf = ({ queues }: SystemState): Queue[] =>
  queues.length === 0 ? [{ lane: 'live', waiting: 0, due: 0 }] : queues;

const queueCells = ({ lane, waiting, due }: Queue): Cell[] => [lane, count(waiting), count(due)];

const partitionColumns = () => [
  { text: t('operator.table') },
  { text: t('operator.days'), numeric: true },
  { text: t('operator.first') },
  { text: t('operator.last') },
  { text: t('operator.size'), numeric: true },
];

const partitionCells = (partition: Partitions): Cell[] => [
  html`<code>${partition.table}</code>`,
  partition.count,
  moment(utc, isoDay(partition.first), 'day'),
  moment(utc, isoDay(partition.last), 'day'),
  byteSize(partition.bytes),
];

/** Reformats a day such as `20261121` as `2026-11-21`. */
const isoDay = (text: string): string => text.replace(/^(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3');
