import { createFailFast } from '../../../platform/db/fail-fast.ts';
import { type Executor, transaction } from '../../../platform/db/pool.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Html, html } from '../../../platform/http/html.ts';
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
import type { EventType } from '../../../webhooks/events.ts';
import { notice } from '../../shell/components.ts';
import { type PublisherContext, pathText } from '../../shell/context.ts';
import { type FieldErrors, type Fields, fieldErrorsOf } from '../../shell/fields.ts';
import type { Page } from '../../shell/layout.ts';
import { actorOf } from '../../shell/management.ts';
import { isFragmentRequest, type PageResult, type PageServices, publisherPages } from '../../shell/pages.ts';
import { methodOf, readSettings, typedEndpoint } from './endpoint-form.ts';
import { basePath, type EndpointPageState, endpointPage } from './endpoint-page.ts';
import { testResult } from './test-result.ts';

/** The previous secret stays valid this long after a rotation (seconds). */
const secretOverlapS = 86_400;

/** Webhook endpoints, one page for each event. */
export function webhookPages(app: App, services: PageServices): void {
  const pages = publisherPages(app, services);
  const scope = createScope(services);
  const eventPath = `${basePath}/:event`;

  pages.get(basePath, 'analyst', ({ path }) => ({ to: path(`${basePath}/usp.selection`) }));
  pages.get(eventPath, 'analyst', (context) => show(scope, context));
  pages.post(eventPath, 'admin', (context, fields) => save(scope, context, fields));
  pages.post(`${eventPath}/test`, 'admin', (context, fields) => test(scope, context, fields));
  pages.post(`${eventPath}/rotate`, 'admin', async (context) => {
    const { secret } = await change(scope, context, (executor, key) =>
      rotateSecret(executor, services.deps.secretBox, key, secretOverlapS),
    );
    return show(scope, context, { secret });
  });

  const action = (name: string, done: string, work: EndpointWork<unknown>): void =>
    pages.post(`${eventPath}/${name}`, 'admin', async (context) => {
      await change(scope, context, work);
      return { to: endpointPath(scope, context), done };
    });
  action('pause', 'Endpoint paused. New deliveries wait until it is resumed.', pauseEndpoint);
  action('resume', 'Endpoint resumed. Waiting deliveries are sent now.', (executor, key) =>
    resumeEndpoint(executor, key, null),
  );
  action('enable', 'Endpoint enabled.', (executor, key) => enableEndpoint(executor, key, true));
}

type EndpointWork<T> = (executor: Executor, key: EndpointKey) => Promise<T>;

type Scope = {
  deps: PageServices['deps'];
  failFast: ReturnType<typeof createFailFast>;
  urlRules: Parameters<typeof requireUsableUrl>[1];
};

function createScope({ deps }: PageServices): Scope {
  const { webhookAllowHttp: allowHttp, webhookAllowNets } = deps.config;
  const urlRules = { allowHttp, allowNets: parseNets(webhookAllowNets) };
  return { deps, failFast: createFailFast(deps.dbHealth), urlRules };
}

/** @throws AppError `not_found` */
function eventOf({ deps }: Scope, context: PublisherContext): EventType {
  const event = deps.events.get(pathText(context, 'event'));
  if (event === undefined) throw new AppError('not_found');
  return event;
}

const endpointPath = (scope: Scope, context: PublisherContext): string =>
  context.path(`${basePath}/${eventOf(scope, context).name}`);

/** Changes the endpoint of the page, in one transaction with its audit entry. */
function change<T>(scope: Scope, context: PublisherContext, work: EndpointWork<T>): Promise<T> {
  const { deps, failFast } = scope;
  const event = eventOf(scope, context).name;
  const by = { actor: actorOf(context), publisherId: context.publisher.id, nowMs: deps.now() };
  return failFast(() =>
    transaction(deps.pool, (executor) =>
      changeEndpoint({ ...by, executor }, event, deps.secretBox, (key) => work(executor, key)),
    ),
  );
}

async function show(scope: Scope, context: PublisherContext, state: EndpointPageState = {}): Promise<Page> {
  const { deps, failFast } = scope;
  const event = eventOf(scope, context);
  const all = await failFast(() => listEndpoints(deps.pool, context.publisher.id, null));
  const found = all.find(({ endpoint }) => endpoint.event === event.name) ?? null;
  return endpointPage(context, deps.events, event, found, state);
}

async function save(scope: Scope, context: PublisherContext, fields: Fields): Promise<PageResult> {
  try {
    requireUsableUrl(fields.text('url'), scope.urlRules);
    const settings = readSettings(fields);
    const { secret } = await change(scope, context, (executor, key) =>
      saveEndpoint(executor, scope.deps.secretBox, { ...key, ...settings }),
    );
    if (secret !== null) return show(scope, context, { secret });
    return { to: endpointPath(scope, context), done: 'Endpoint saved.' };
  } catch (err) {
    return show(scope, context, { typed: typedEndpoint(fields), errors: fieldErrorsOf(err) });
  }
}

/** Sends a test event to the URL as it is typed. The result replaces a part of the page where scripts run. */
async function test(scope: Scope, context: PublisherContext, fields: Fields): Promise<PageResult> {
  const { pool, now, config, sender } = scope.deps;
  const { publisher, request } = context;
  const answer = (result: Html) =>
    isFragmentRequest(request) ? { fragment: result } : show(scope, context, { typed: typedEndpoint(fields), result });
  const url = fields.text('url');
  try {
    await scope.failFast(() => takeTestToken(pool, publisher.id, now()));
    requireUsableUrl(url, scope.urlRules);
  } catch (err) {
    return answer(notice('failed', html`<p>${testError(err)}</p>`));
  }
  const event = eventOf(scope, context);
  const saved = await scope.failFast(() => findEndpoint(pool, publisher.id, event.name));
  const target = targetOf(event, url, { method: methodOf(fields) }, saved, scope.deps);
  return answer(testResult(await testEndpoint(target, { sender, publisher, publicUrl: config.publicUrl, now })));
}

function testError(err: unknown): string {
  if (err instanceof AppError && err.code === 'too_many_requests')
    return 'Too many tests. At most 10 per minute; try again shortly.';
  const [error]: FieldErrors = fieldErrorsOf(err);
  return `The URL ${error?.message ?? 'cannot be used'}.`;
}
