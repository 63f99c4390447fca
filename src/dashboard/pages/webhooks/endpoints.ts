import { createFailFast } from '../../../platform/db/fail-fast.ts';
import { type Executor, transaction } from '../../../platform/db/pool.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { parseNets } from '../../../webhooks/dispatcher/send/address-guard.ts';
import { changeEndpoint } from '../../../webhooks/endpoints/audit.ts';
import {
  type EndpointKey,
  enableEndpoint,
  pauseEndpoint,
  resumeEndpoint,
  rotateSecret,
  saveEndpoint,
} from '../../../webhooks/endpoints/changes.ts';
import { findEndpoint, listEndpoints } from '../../../webhooks/endpoints/store.ts';
import { testEndpoint } from '../../../webhooks/endpoints/test-endpoint.ts';
import { takeTestToken } from '../../../webhooks/endpoints/test-limit.ts';
import { targetOf } from '../../../webhooks/endpoints/test-routes.ts';
import { requireUsableUrl } from '../../../webhooks/endpoints/url-rules.ts';
import { viewOfState } from '../../../webhooks/endpoints/view.ts';
import type { EventType } from '../../../webhooks/events.ts';
import { mayAct } from '../../auth/users.ts';
import { actionButton, badge, card, copyable, facts, saveForm, tabs } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { moment, plural } from '../../shell/format.ts';
import { createForm, type Fields, type FormValue, type Problems, problemsOf } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { actorOf } from '../../shell/management.ts';
import { publisherPages, type Tools } from '../../shell/pages.ts';
import { testResult } from './test-result.ts';

type Found = Awaited<ReturnType<typeof listEndpoints>>[number];
type State = { typed?: Record<string, FormValue>; problems?: Problems; secret?: string; result?: Html };

/** Settings > Configurations > Postbacks and Webhooks > Manage: a tab for each event. */
export function webhookPages(app: App, { deps, ...tools }: Tools): void {
  const { pool, secretBox, now, config, sender } = deps;
  const pages = publisherPages(app, { deps, ...tools });
  const guarded = createFailFast(deps.dbHealth);
  const rules = { allowHttp: config.webhookAllowHttp, allowNets: parseNets(config.webhookAllowNets) };
  const base = '/settings/webhooks';

  function eventTypeOf({ request }: PublisherContext): EventType {
    const { event = '' } = request.params as { event?: string };
    const type = deps.events.get(event);
    if (type === undefined) throw new AppError('not_found');
    return type;
  }
  const eventOf = (context: PublisherContext): string => eventTypeOf(context).name;

  /** Changes the endpoint of the page, in one transaction with its entry in the audit log. */
  const write = <T>(
    context: PublisherContext,
    work: (executor: Executor, key: EndpointKey) => Promise<T>,
  ): Promise<T> => {
    const by = { actor: actorOf(context), publisherId: context.publisher.id, nowMs: now() };
    return guarded(() =>
      transaction(pool, (executor) =>
        changeEndpoint({ ...by, executor }, eventOf(context), secretBox, (key) => work(executor, key)),
      ),
    );
  };

  pages.get(base, 'analyst', ({ path }) => ({ to: path(`${base}/usp.selection`) }));
  pages.get(`${base}/:event`, 'analyst', (context) => show(context));

  pages.post(`${base}/:event`, 'admin', async (context, fields) => {
    const typed = typedOf(fields);
    try {
      requireUsableUrl(fields.text('url'), rules);
      const settings = readSettings(fields);
      const { secret } = await write(context, (executor, key) =>
        saveEndpoint(executor, secretBox, {
          ...key,
          ...settings,
          url: fields.text('url'),
          method: fields.text('method') === 'GET' ? 'GET' : 'POST',
          enabled: fields.checked('enabled'),
        }),
      );
      if (secret !== null) return show(context, { secret });
      return { to: context.path(`${base}/${eventOf(context)}`), done: 'The endpoint is saved.' };
    } catch (err) {
      return show(context, { typed, problems: problemsOf(err) });
    }
  });

  pages.post(`${base}/:event/test`, 'admin', async (context, fields) => {
    const isPiece = context.request.headers['hx-request'] === 'true';
    const answer = (result: Html, problems: Problems = []) =>
      isPiece ? { fragment: result } : show(context, { typed: typedOf(fields), problems, result });
    try {
      await guarded(() => takeTestToken(pool, context.publisher.id, now()));
      requireUsableUrl(fields.text('url'), rules);
    } catch (err) {
      if (err instanceof AppError && err.code === 'too_many_requests')
        return answer(
          html`<div class="notice failed" role="alert"><p>Too many tests. Ten a minute are fine; wait a moment.</p></div>`,
        );
      const [problem] = problemsOf(err);
      return answer(
        html`<div class="notice failed" role="alert"><p>The URL ${problem?.message ?? 'cannot be used'}.</p></div>`,
      );
    }
    const eventType = eventTypeOf(context);
    const saved = await guarded(() => findEndpoint(pool, context.publisher.id, eventType.name));
    const asked = { method: fields.text('method') === 'GET' ? ('GET' as const) : ('POST' as const) };
    const target = targetOf(eventType, fields.text('url'), asked, saved, deps);
    return answer(
      testResult(
        await testEndpoint(target, { sender, publisher: context.publisher, publicUrl: config.publicUrl, now }),
      ),
    );
  });

  const change = (name: string, done: string, work: (executor: Executor, key: EndpointKey) => Promise<unknown>): void =>
    pages.post(`${base}/:event/${name}`, 'admin', async (context) => {
      await write(context, work);
      return { to: context.path(`${base}/${eventOf(context)}`), done };
    });
  change('pause', 'Paused. What is promised meanwhile waits.', pauseEndpoint);
  change('resume', 'Resumed. What waited is sent now.', (executor, key) => resumeEndpoint(executor, key, null));
  change('enable', 'The endpoint is enabled.', (executor, key) => enableEndpoint(executor, key, true));
  pages.post(`${base}/:event/rotate`, 'admin', async (context) => {
    const { secret } = await write(context, (executor, key) => rotateSecret(executor, secretBox, key, 86_400));
    return show(context, { secret });
  });

  async function show(
    context: PublisherContext,
    { typed, problems = [], secret, result = nothing }: State = {},
  ): Promise<Page> {
    const event = eventOf(context);
    const all = await guarded(() => listEndpoints(pool, context.publisher.id, null));
    const found = all.find(({ endpoint }) => endpoint.event === event) ?? null;
    const { path } = context;
    const at = path(`${base}/${event}`);
    const form = createForm(typed ?? valuesOf(found), problems);
    const canEdit = mayAct(context.viewer.user.role, 'admin');
    const fields = endpointFields(form);
    return {
      title: 'Postbacks and Webhooks',
      lead: 'Where Perkwire tells your servers what happened. Every call is signed by the Standard Webhooks specification.',
      nav: 'webhooks',
      trail: [{ text: 'Settings', href: path('/settings') }],
      status: problems.length > 0 ? 422 : 200,
      body: html`${tabs(
        'Events',
        [...deps.events.values()].map(({ name, title }) => ({
          text: title,
          href: path(`${base}/${name}`),
          current: name === event,
        })),
      )}
${secret === undefined ? nothing : html`<div class="notice done" role="status"><p><strong>The signing secret.</strong> Your server verifies the signature with it. It is shown only now.</p>${copyable(secret, 'signing secret')}</div>`}
${found === null ? nothing : stateCard(context, found, at, canEdit)}
${card(
  found === null ? 'Set an endpoint' : 'Endpoint',
  canEdit
    ? html`${saveForm(context, at, html`${form.summary()}${fields}`, { extra: html`<button class="button" formaction="${at}/test" hx-post="${at}/test" hx-target="#test-result" hx-swap="innerHTML" hx-disabled-elt="this">Test Endpoint</button>` })}<div id="test-result" class="below" aria-live="polite">${result}</div>`
    : html`<fieldset class="plain" disabled>${fields}</fieldset>`,
  { lead: eventTypeOf(context).description },
)}`,
    };
  }
}

const typedOf = (fields: Fields): Record<string, FormValue> => ({
  url: fields.text('url'),
  method: fields.text('method'),
  enabled: fields.checked('enabled'),
  deadline_s: fields.text('deadline_s'),
  max_in_flight: fields.text('max_in_flight'),
  rate_limit_per_s: fields.text('rate_limit_per_s'),
  strict_order: fields.checked('strict_order'),
});

/** @throws AppError `invalid_endpoint` naming what is out of bounds */
function readSettings(fields: Fields) {
  const bounded = (name: string, label: string, min: number, max: number, whole: boolean): number => {
    const value = fields.number(name);
    if (typeof value === 'number' && value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
    throw new AppError('invalid_endpoint', {
      details: [{ path: `/${name}`, message: `${label} must be ${min} to ${max}` }],
    });
  };
  return {
    deadlineMs: bounded('deadline_s', 'The deadline', 1, 30, false) * 1000,
    maxInFlight: bounded('max_in_flight', 'Calls at once', 1, 100, true),
    rateLimitPerS:
      fields.text('rate_limit_per_s') === ''
        ? null
        : bounded('rate_limit_per_s', 'Calls a second', 0.01, 10_000, false),
    strictOrder: fields.checked('strict_order'),
  };
}

const valuesOf = (found: Found | null): Record<string, FormValue> => ({
  url: found?.endpoint.url,
  method: found?.endpoint.method ?? 'POST',
  enabled: found?.endpoint.enabled ?? true,
  deadline_s: (found?.endpoint.deadlineMs ?? 15_000) / 1000,
  max_in_flight: found?.endpoint.maxInFlight ?? 4,
  rate_limit_per_s: found?.endpoint.rateLimitPerS,
  strict_order: found?.endpoint.strictOrder ?? false,
});

const endpointFields = (
  form: ReturnType<typeof createForm>,
): Html => html`<div class="columns method">${form.select('method', { label: 'Method', choices: ['POST', 'GET'].map((value) => ({ value, text: value })) })}${form.input('url', { label: 'URL', type: 'url', required: true, placeholder: 'https://' })}</div>
${form.check('enabled', { label: 'Enabled', hint: 'Disabled: what waits is held, and can be replayed.' })}
<details class="more"><summary>Limits and order</summary><div class="columns tight">${form.input('deadline_s', { label: 'Deadline (seconds)', type: 'number', min: 1, most: 30, step: 'any', hint: 'For the whole call.' })}${form.input('max_in_flight', { label: 'Calls at once', type: 'number', min: 1, most: 100 })}${form.input('rate_limit_per_s', { label: 'Calls a second', type: 'number', min: 0.01, step: 'any', hint: 'Empty: no limit.' })}</div>
${form.check('strict_order', { label: 'Strict order', hint: 'One at a time; a retry holds up the rest.' })}</details>`;

function stateCard(context: PublisherContext, found: Found, at: string, canEdit: boolean): Html {
  const { publisher, path } = context;
  const { endpoint } = found;
  const state = viewOfState(endpoint, found.health);
  const tone =
    state.status === 'active' ? (state.warning === null ? 'good' : 'bad') : state.status === 'paused' ? 'warn' : 'bad';
  const action = (name: string, text: string, confirm?: string): Html =>
    actionButton(context, { to: `${at}/${name}`, text, small: true, ...(confirm !== undefined && { confirm }) });
  const actions = canEdit
    ? html`${endpoint.enabled ? nothing : action('enable', 'Enable')}${endpoint.pausedAt === null ? action('pause', 'Pause') : action('resume', 'Resume')}${action('rotate', 'Rotate secret', 'A new secret is made and shown once. The present one signs beside it for a day.')}`
    : nothing;
  return card(
    'State',
    facts([
      [
        'Status',
        html`${badge(state.status, tone)}${endpoint.disabledReason === null ? nothing : html` <span class="hint">${endpoint.disabledReason}</span>`}${state.breaker === 'open' ? html` ${badge('calls wait: too much failed', 'bad')}` : nothing}`,
      ],
      [
        'Waiting',
        html`<a href="${path(`/deliveries?status=pending&event=${endpoint.event}`)}">${plural(state.pending, 'delivery', 'deliveries')}</a>`,
      ],
      [
        'Held',
        html`<a href="${path(`/deliveries?status=held&event=${endpoint.event}`)}">${plural(state.held, 'delivery', 'deliveries')}</a>`,
      ],
      [
        'Last success',
        state.last_success_at === null ? 'none yet' : moment(publisher, new Date(state.last_success_at), 'second'),
      ],
      ['Failures since', state.failures],
    ]),
    { actions },
  );
}
