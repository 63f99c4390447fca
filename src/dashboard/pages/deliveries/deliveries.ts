import { createFailFast } from '../../../platform/db/fail-fast.ts';
import { transaction } from '../../../platform/db/pool.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { isUuid7 } from '../../../platform/lib/uuid7.ts';
import type { App } from '../../../platform/ports.ts';
import { deliveryStatuses, findPage } from '../../../webhooks/deliveries/filter.ts';
import { readCursor, readDeliveryId, writeCursor } from '../../../webhooks/deliveries/request.ts';
import { findAttempts, findDelivery, readDeliveries } from '../../../webhooks/deliveries/store.ts';
import { viewOfDelivery, viewOfWholeDelivery } from '../../../webhooks/deliveries/view.ts';
import type { EventTypes } from '../../../webhooks/events.ts';
import { cancelJob, createJob, findJob } from '../../../webhooks/redelivery/jobs.ts';
import { redeliverOne } from '../../../webhooks/redelivery/routes.ts';
import { mayAct } from '../../auth/users.ts';
import { actionButton, badge, card, emptyState, facts, linkButton, pager, table } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { moment } from '../../shell/format.ts';
import { createForm, type FormBuilder } from '../../shell/forms.ts';
import { queryText } from '../../shell/management.ts';
import { publisherPages, type Tools } from '../../shell/pages.ts';
import { type AskedDeliveries, filterNames, readAsked } from './filter.ts';
import { replayProgress } from './redelivery-progress.ts';
import { deliveryTone, timeline } from './timeline.ts';

const listed = 50;

/** What was promised to the publisher's endpoints, and what became of it; one or many can be sent again. */
export function deliveryPages(app: App, tools: Tools): void {
  const { pool, now } = tools.deps;
  const pages = publisherPages(app, tools);
  const guarded = createFailFast(tools.deps.dbHealth);
  const asked = (context: PublisherContext): AskedDeliveries =>
    Object.fromEntries(filterNames.map((name) => [name, queryText(context, name)]));

  pages.get('/deliveries', 'analyst', async (context) => {
    const { publisher, path } = context;
    const wanted = asked(context);
    const { filter, problems } = readAsked(wanted, publisher, now(), tools.deps.events);
    const cursor = queryText(context, 'cursor');
    const below = cursor === '' ? null : readCursor(cursor, now());
    const { rows, next } = await guarded(async () => {
      const found = await findPage(pool, filter, below, listed);
      return { rows: (await readDeliveries(pool, found.keys)).map(viewOfDelivery), next: found.next };
    });
    const query = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value !== ''));
    const after =
      next === null ? null : `${path('/deliveries')}?${new URLSearchParams([...query, ['cursor', writeCursor(next)]])}`;
    const form = createForm(wanted, problems);
    const cells = rows.map((row) => [
      html`<a href="${path(`/deliveries/${row.id}`)}"><strong>${moment(publisher, new Date(row.created_at), 'second')}</strong></a>${row.dev ? html` ${badge('dev', 'warn')}` : nothing}`,
      row.event,
      badge(row.status, deliveryTone(row.status)),
      row.tries,
      row.last_status === null ? (row.last_error ?? '–') : String(row.last_status),
      row.pub_user_id ?? '–',
    ]);
    const isFiltered = query.size > 0;
    return {
      title: 'Deliveries',
      lead: 'Every webhook that was promised to your endpoints, newest first.',
      nav: 'deliveries',
      status: problems.length > 0 ? 422 : 200,
      body:
        rows.length === 0 && !isFiltered && cursor === '' && next === null
          ? emptyState(
              'deliveries',
              'Nothing was sent yet',
              'Once an endpoint is set and a user confirms perks, the webhook and each of its tries appear here.',
              linkButton(path('/settings/webhooks'), 'Set an endpoint', 'main'),
            )
          : html`<form class="filters" method="get" action="${path('/deliveries')}" role="search">${filterFields(form, publisher.timeZone, tools.deps.events)}<button class="button">Show</button></form>
${rows.length === 0 ? html`<p class="hint">${next === null ? 'Nothing matches.' : 'Nothing here; there may be more on the next page.'}</p>` : table('Deliveries', [{ text: 'OutboxEvent' }, { text: 'Event' }, { text: 'Status' }, { text: 'Tries', numeric: true }, { text: 'Last answer' }, { text: 'User' }], cells)}
${pager(cursor === '' ? null : `${path('/deliveries')}?${query}`, after)}
${mayAct(context.viewer.user.role, 'manager') ? replayCard(context, wanted) : nothing}`,
    };
  });

  pages.get('/deliveries/:id', 'analyst', async (context) => {
    const { publisher, path } = context;
    const view = await wholeDelivery(context);
    const canReplay =
      mayAct(context.viewer.user.role, 'manager') && view.status !== 'pending' && view.erased_at === null;
    const at = path(`/deliveries/${view.id}`);
    return {
      title: 'Delivery',
      lead: html`<code>${view.webhook_id}</code>`,
      nav: 'deliveries',
      trail: [{ text: 'Deliveries', href: path('/deliveries') }],
      body: html`<div id="delivery"${view.status === 'pending' && html` hx-get="${at}" hx-select="#delivery" hx-swap="outerHTML" hx-trigger="every 2s"`}>${card(
        'What was promised',
        facts([
          ['Status', badge(view.status, deliveryTone(view.status))],
          ['Event', view.event],
          ['OutboxEvent', moment(publisher, new Date(view.created_at), 'second')],
          ['Finished', view.finished_at === null ? '–' : moment(publisher, new Date(view.finished_at), 'second')],
          ['Next try', view.next_try_at === null ? '–' : moment(publisher, new Date(view.next_try_at), 'second')],
          ['User', view.pub_user_id ?? '–'],
          ['Session', html`<code>${view.session_id ?? '–'}</code>`],
        ]),
        { actions: canReplay ? actionButton(context, { to: `${at}/replay`, text: 'Replay', kind: 'main' }) : nothing },
      )}
${card('Tries', view.attempts.length === 0 ? html`<p class="hint">None yet.</p>` : timeline(view.attempts, publisher), { lead: 'The same id and bytes on every try, signed anew.' })}</div>
${card('Payload', view.payload === null ? html`<p class="hint">The user’s data were erased on request.</p>` : html`<pre class="block" tabindex="0" aria-label="Payload">${pretty(view.payload)}</pre>`)}`,
    };
  });

  pages.post('/deliveries/:id/replay', 'manager', async (context) => {
    const id = idOf(context);
    const to = context.path(`/deliveries/${id}`);
    try {
      await guarded(() => transaction(pool, (executor) => redeliverOne(executor, context.publisher.id, id, now())));
      return { to, done: 'It is sent again.' };
    } catch (err) {
      if (err instanceof AppError && err.status === 409) return { to, failed: err.message };
      throw err;
    }
  });

  pages.post('/deliveries/replay', 'manager', async (context, fields) => {
    const wanted: AskedDeliveries = Object.fromEntries(filterNames.map((name) => [name, fields.text(name)]));
    const { filter, problems } = readAsked(wanted, context.publisher, now(), tools.deps.events);
    if (problems.length > 0) return { to: context.path('/deliveries'), failed: 'The filter is not right.' };
    const statuses = (filter.statuses ?? ['failed', 'held']).filter((status) => status !== 'pending');
    if (statuses.length === 0) return { to: context.path('/deliveries'), failed: 'What is pending is sent anyway.' };
    try {
      const job = await guarded(() =>
        transaction(pool, (executor) => createJob(executor, { ...filter, statuses: [...statuses].sort() }, now())),
      );
      return { to: context.path(`/deliveries/replays/${job.id}`) };
    } catch (err) {
      if (err instanceof AppError && err.code === 'too_many_replays')
        return { to: context.path('/deliveries'), failed: err.message };
      throw err;
    }
  });

  const jobOf = async (context: PublisherContext) => {
    const { id = '' } = context.request.params as { id?: string };
    const job = isUuid7(id) ? await guarded(() => findJob(pool, context.publisher.id, id)) : null;
    if (job === null) throw new AppError('not_found');
    return job;
  };

  pages.get('/deliveries/replays/:id', 'analyst', async (context) => {
    const job = await jobOf(context);
    const progress = replayProgress(context, job);
    if (context.request.headers['hx-request'] === 'true') return { fragment: progress };
    return {
      title: 'Replay',
      nav: 'deliveries',
      trail: [{ text: 'Deliveries', href: context.path('/deliveries') }],
      body: progress,
    };
  });

  pages.post('/deliveries/replays/:id/cancel', 'manager', async (context) => {
    const job = await jobOf(context);
    const ended = await guarded(() =>
      transaction(pool, (executor) => cancelJob(executor, context.publisher.id, job.id, now())),
    );
    return {
      to: context.path(`/deliveries/replays/${job.id}`),
      ...(ended ? { done: 'Ended. What is queued already is sent.' } : { failed: 'It was over already.' }),
    };
  });

  function idOf({ request }: PublisherContext): string {
    const { id = '' } = request.params as { id?: string };
    const found = readDeliveryId(id, now());
    if (found === null) throw new AppError('not_found');
    return found;
  }

  async function wholeDelivery(context: PublisherContext) {
    const found = await guarded(() => findDelivery(pool, context.publisher.id, idOf(context)));
    if (found === null) throw new AppError('not_found');
    return viewOfWholeDelivery(found, await guarded(() => findAttempts(pool, found.id)));
  }
}

const any = { value: '', text: 'Any' };

const filterFields = (
  form: FormBuilder,
  timeZone: string,
  events: EventTypes,
): Html => html`${form.select('status', { label: 'Status', choices: [any, ...deliveryStatuses.map((value) => ({ value, text: value }))] })}
${form.select('event', { label: 'Event', choices: [any, ...[...events.keys()].map((value) => ({ value, text: value }))] })}
${form.input('from', { label: `From (${timeZone})`, type: 'datetime-local' })}${form.input('to', { label: 'To', type: 'datetime-local' })}
${form.input('pub_user_id', { label: 'User' })}${form.input('session_id', { label: 'Session' })}`;

function replayCard(context: PublisherContext, wanted: AskedDeliveries): Html {
  const statuses = wanted.status === '' || wanted.status === undefined ? 'failed and held' : wanted.status;
  if (wanted.status === 'pending') return nothing;
  return card(
    'Send them again',
    actionButton(context, {
      to: context.path('/deliveries/replay'),
      text: 'Replay all that match',
      values: wanted,
      confirm: `All ${statuses} deliveries that match the filter are sent again, with the ids they have.`,
    }),
    { lead: `Replays the ${statuses} deliveries of the filter above.` },
  );
}

function pretty(payload: string): string {
  try {
    return JSON.stringify(JSON.parse(payload), null, 2);
  } catch {
    return payload;
  }
}
