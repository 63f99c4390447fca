import { type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import { createFailFast } from '../../../platform/db/health.ts';
import { transaction } from '../../../platform/db/pool.ts';
import { AppError } from '../../../platform/errors.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { isUuid7 } from '../../../platform/lib/uuid7.ts';
import { wordProblem } from '../../../platform/problem.ts';
import { actionButton, badge, card, descriptionList, linkButton } from '../../../shell/components.ts';
import { type Fields, hasRole, pathText } from '../../../shell/context.ts';
import { count, moment, momentOr } from '../../../shell/format.ts';
import { isFragmentRequest, type PageResult } from '../../../shell/pages.ts';
import { cancelJob, createJob, findJob, type RedeliveryJob } from '../../redelivery/jobs.ts';
import { redeliverOne } from '../../redelivery/requeue.ts';
import type { PageServices } from '../services.ts';
import { deliveryIdOf } from './deliveries.ts';
import { filterNames, readFilter, type TypedFilter } from './filter.ts';

type Scope = { deps: PageServices['deps']; failFast: ReturnType<typeof createFailFast> };

/**
 * Registers the pages that redeliver either a single delivery or all deliveries matching a filter. The latter is done
 * by a background job.
 */
export function redeliveryPages(app: App, services: PageServices): void {
  const pages = publisherPages(app, services);
  const scope: Scope = { deps: services.deps, failFast: createFailFast(services.deps.dbHealth) };
  pages.post('/deliveries/:id/replay', 'manager', (context) => redeliver(scope, context));
  pages.post('/deliveries/replay', 'manager', (context, fields) => redeliverMatches(scope, context, fields));
  pages.get('/deliveries/replays/:id', 'analyst', (context) => progressPage(scope, context));
  pages.post('/deliveries/replays/:id/cancel', 'manager', (context) => cancel(scope, context));
}

async function redeliver({ deps, failFast }: Scope, context: PublisherContext): Promise<PageResult> {
  const id = deliveryIdOf(context, deps.now());
  const to = context.path(`/deliveries/${id}`);
  try {
    await failFast(() =>
      transaction(deps.pool, (executor) => redeliverOne(executor, context.publisher.id, id, deps.now())),
    );
    return { to, done: t('deliveries.attemptQueued') };
  } catch (err) {
    if (err instanceof AppError && err.status === 409) return { to, failed: wordProblem(err.problem) };
    throw err;
  }
}

async function redeliverMatches(
  { deps, failFast }: Scope,
  context: PublisherContext,
  fields: Fields,
): Promise<PageResult> {
  const to = context.path('/deliveries');
  const typed: TypedFilter = Object.fromEntries(filterNames.map((name) => [name, fields.text(name)]));
  const { filter, errors } = readFilter(typed, context.publisher, deps.now(), deps.events);
  if (errors.length > 0) return { to, failed: t('deliveries.invalidFilter') };
  const statuses = filter.statuses ?? ['failed', 'held', 'pending'];
  try {
    const job = await failFast(() =>
      transaction(deps.pool, (executor) =>
        createJob(executor, { ...filter, statuses: [...statuses].sort() }, deps.now()),
      ),
    );
    return { to: context.path(`/deliveries/replays/${job.id}`) };
  } catch (err) {
    if (err instanceof AppError && err.code === 'too_many_replays') return { to, failed: wordProblem(err.problem) };
    throw err;
  }
}

/**
 * Returns the redelivery job in the page path.
 * @throws AppError `not_found`
 */
async function jobOf({ deps, failFast }: Scope, context: PublisherContext): Promise<RedeliveryJob> {
  const id = pathText(context, 'id');
  const job = isUuid7(id) ? await failFast(() => findJob(deps.pool, context.publisher.id, id)) : null;
  if (job === null) throw new AppError('not_found');
  return job;
}

async function progressPage(scope: Scope, context: PublisherContext): Promise<PageResult> {
  const progress = redeliveryProgress(context, await jobOf(scope, context));
  if (isFragmentRequest(context.request)) return { fragment: progress };
  return {
    title: t('deliveries.redelivery'),
    nav: 'deliveries',
    trail: [{ text: t('deliveries.title'), href: context.path('/deliveries') }],
    body: progress,
  };
}

async function cancel(scope: Scope, context: PublisherContext): Promise<PageResult> {
  const { deps, failFast } = scope;
  const job = await jobOf(scope, context);
  const isCancelled = await failFast(() =>
    transaction(deps.pool, (executor) => cancelJob(executor, context.publisher.id, job.id, deps.now())),
  );
  return {
    to: context.path(`/deliveries/replays/${job.id}`),
    ...(isCancelled ? { done: t('deliveries.cancelled') } : { failed: t('deliveries.alreadyFinished') }),
  };
}

/** Renders the progress of a redelivery job. The page refreshes itself while the job is running. */
function redeliveryProgress(context: PublisherContext, job: RedeliveryJob): Html {
  const { path, viewer } = context;
  const isRunning = job.status === 'running';
  const at = path(`/deliveries/replays/${job.id}`);
  const refresh = isRunning && html` hx-get="${at}" hx-trigger="every 1s" hx-swap="outerHTML"`;
  const canCancel = isRunning && hasRole(viewer.user.role, 'manager');
  const cancel = () => actionButton(context, { to: `${at}/cancel`, text: t('common.cancel'), small: true });
  return html`
    <div id="redelivery"${refresh}>
      ${card(t('deliveries.progress'), progress(context, job), { actions: canCancel ? cancel() : nothing })}
      ${!isRunning && html`<p>${linkButton(path('/deliveries'), t('deliveries.back'))}</p>`}
    </div>`;
}

function progress({ publisher }: PublisherContext, job: RedeliveryJob): Html {
  const tone = job.status === 'running' ? 'info' : job.status === 'done' ? 'good' : 'warn';
  const max = Math.max(1, job.total);
  const value = job.status === 'done' ? max : job.queued;
  return html`
    <progress class="bar" max="${max}" value="${value}" aria-label="${t('deliveries.progress')}"></progress>
    ${descriptionList([
      [t('deliveries.status'), badge(t(`redeliveryStatus.${job.status}`), tone)],
      [t('deliveries.queued'), t('deliveries.queuedOf', { queued: count(job.queued), total: count(job.total) })],
      [t('deliveries.started'), moment(publisher, job.createdAt, 'second')],
      [t('deliveries.finished'), momentOr(publisher, job.finishedAt)],
    ])}`;
}
