import { type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import type { Work } from '../../../management/unit-of-work.ts';
import { createFailFast } from '../../../platform/db/health.ts';
import { type Executor, transaction } from '../../../platform/db/pool.ts';
import { AppError } from '../../../platform/errors.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { Problem } from '../../../platform/problem.ts';
import { notice } from '../../../shell/components.ts';
import { type FieldErrors, type Fields, fieldErrorsOf, pathText, queryText, reasonOf } from '../../../shell/context.ts';
import { focusField } from '../../../shell/forms.ts';
import type { Page } from '../../../shell/layout.ts';
import { isFragmentRequest, type PageResult } from '../../../shell/pages.ts';
import { requireUnchanged, withStored } from '../../../shell/row-list.ts';
import { readActivity } from '../../activity/activity.ts';
import { findPage } from '../../deliveries/walk.ts';
import { readDeliveries } from '../../delivery-store.ts';
import {
  addEndpoint,
  type EndpointKey,
  removeEndpoint,
  type Saved,
  saveEndpoint,
  updateEndpoint,
} from '../../endpoint-changes.ts';
import { type Endpoint, type EndpointRef, findEndpoint, listEndpoints } from '../../endpoint-store.ts';
import { enableEndpoint, pauseEndpoint, resumeEndpoint, rotateSecret } from '../../endpoints/actions.ts';
import { changeEndpoint, createEndpoint } from '../../endpoints/audit.ts';
import { readSettings as checkSettings, readEvents } from '../../endpoints/settings.ts';
import { type TestTarget, testEndpoint } from '../../endpoints/test-endpoint.ts';
import { readTarget as readTestTarget } from '../../endpoints/test-routes.ts';
import { type EventType, requireEventType } from '../../events.ts';
import { takeTestToken } from '../../test-limit.ts';
import { gallery } from '../../transformations/gallery.ts';
import { previewTransformation } from '../../transformations/preview.ts';
import { type UrlRules, urlRulesOf } from '../../url-rules.ts';
import type { PageServices } from '../services.ts';
import { activityCard, activitySinceMs } from './activity-card.ts';
import { chosenKind, pullCard } from './destination-fields.ts';
import {
  endpointToForm,
  readLists,
  readSettings,
  readTarget,
  readTransformation,
  typedEndpoint,
} from './endpoint-form.ts';
import {
  basePath,
  type EndpointPageState,
  type EndpointTarget,
  endpointListPage,
  endpointPage,
} from './endpoint-page.ts';
import { countWaiting } from './status-card.ts';
import { testResult } from './test-result.ts';
import { previewResult, previewSourceOf } from './transformation-fields.ts';

/** Time for which the previous secret stays valid after a rotation, in seconds. */
const secretOverlapS = 86_400;

/**
 * Registers the webhook endpoint pages. There is a page for the default endpoint of each event, a list of all
 * endpoints, and a page for each other endpoint.
 */
export function webhookPages(app: App, services: PageServices): void {
  const pages = publisherPages(app, services);
  const scope = createScope(services);
  const { events, pool } = services.deps;
  const endpointPath = `${basePath}/:endpoint`;

  pages.get(basePath, 'analyst', ({ path }) => ({ to: path(`${basePath}/usp.selection`) }));
  pages.get(`${basePath}/all`, 'analyst', async (context) =>
    endpointListPage(context, events, await scope.failFast(() => listEndpoints(pool, context.publisher.id, null))),
  );
  pages.get(endpointPath, 'analyst', (context) => show(scope, context, preselected(scope, context)));
  pages.post(endpointPath, 'admin', (context, fields) => save(scope, context, fields));
  pages.post(`${endpointPath}/test`, 'admin', (context, fields) => test(scope, context, fields));
  pages.post(`${endpointPath}/transformation/preview`, 'admin', (context, fields) => preview(scope, context, fields));
  pages.post(`${endpointPath}/transformation/template`, 'admin', (context, fields) => {
    const template = gallery.find(({ key }) => key === fields.text('template'))?.transformation;
    const inserted = { 'transformation.body': template?.body ?? '', 'transformation.headers': template?.headers ?? '' };
    return show(scope, context, {
      typed: { ...typedEndpoint(fields), ...inserted, [focusField]: 'transformation.body' },
    });
  });
  const rotate = async (context: PublisherContext): Promise<Page> => {
    const { secret } = await change(scope, context, (executor, key) =>
      rotateSecret(executor, services.deps.secretBox, key, secretOverlapS),
    );
    return show(scope, context, { secret });
  };
  pages.post(`${endpointPath}/rotate`, 'admin', rotate, { isSensitive: true });
  pages.post(`${endpointPath}/remove`, 'admin', async (context) => {
    await change(scope, context, removeEndpoint);
    return { to: context.path(`${basePath}/all`), done: t('webhooks.removed') };
  });

  const action = (name: string, done: (waiting: string) => string, work: EndpointWork<unknown>): void =>
    pages.post(`${endpointPath}/${name}`, 'admin', async (context) => {
      await change(scope, context, work);
      const { stored } = await targetOfPage(scope, context, refOf(scope, context));
      return { to: ownPath(context), done: done(countWaiting(stored?.health ?? { pending: 0, held: 0 })) };
    });
  action('pause', (waiting) => t('webhooks.paused', { waiting }), pauseEndpoint);
  action(
    'resume',
    (waiting) => t('webhooks.resumed', { waiting }),
    (executor, key) => resumeEndpoint(executor, key, null),
  );
  action(
    'enable',
    (waiting) => t('webhooks.enabledDone', { waiting }),
    (executor, key) => enableEndpoint(executor, key, true),
  );
}

type EndpointWork<T> = (executor: Executor, key: EndpointKey) => Promise<T>;

type Scope = {
  deps: PageServices['deps'];
  management: PageServices['management'];
  failFast: ReturnType<typeof createFailFast>;
  urlRules: UrlRules;
};

const createScope = ({ deps, management }: PageServices): Scope => ({
  deps,
  management,
  failFast: createFailFast(deps.dbHealth),
  urlRules: urlRulesOf(deps.config),
});

const newRef = 'new';

/**
 * Returns the endpoint reference in the page path, or null for a new endpoint.
 * @throws AppError `not_found`
 */
function refOf({ deps }: Scope, context: PublisherContext): EndpointRef | null {
  const text = pathText(context, 'endpoint');
  if (text === newRef) return null;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  if (!deps.events.has(text)) throw new AppError('not_found');
  return text;
}

const ownPath = (context: PublisherContext): string => context.path(`${basePath}/${pathText(context, 'endpoint')}`);

/** Runs a change to the publisher's endpoints. The change and its audit entry are stored in one transaction. */
function inTransaction<T>(
  { deps, management, failFast }: Scope,
  context: PublisherContext,
  run: (work: Work) => Promise<T>,
) {
  const by = { actor: management.actorOf(context), publisherId: context.publisher.id, nowMs: deps.now() };
  return failFast(() => transaction(deps.pool, (executor) => run({ ...by, executor })));
}

/**
 * Changes the endpoint shown on the page.
 * @throws AppError `not_found`
 */
function change<T>(scope: Scope, context: PublisherContext, change: EndpointWork<T>): Promise<T> {
  const ref = refOf(scope, context);
  if (ref === null) throw new AppError('not_found');
  return inTransaction(scope, context, (work) =>
    changeEndpoint(work, ref, scope.deps.secretBox, (key) => change(work.executor, key)),
  );
}

/** Returns the form for a new endpoint that receives the event in the query, if the page has one. */
function preselected(scope: Scope, context: PublisherContext): EndpointPageState {
  const event = queryText(context, 'event');
  const isNew = refOf(scope, context) === null && scope.deps.events.has(event);
  return isNew ? { typed: { ...endpointToForm(null), events: [event] } } : {};
}

async function show(scope: Scope, context: PublisherContext, state: EndpointPageState = {}): Promise<Page> {
  return endpointPage(context, scope.deps.events, await targetOfPage(scope, context, refOf(scope, context)), state);
}

/**
 * Loads the endpoint shown on the page.
 * @throws AppError `not_found` if the publisher has no endpoint with this ID
 */
async function targetOfPage(
  { deps, failFast }: Scope,
  context: PublisherContext,
  ref: EndpointRef | null,
): Promise<EndpointTarget> {
  if (ref === null)
    return { ref: newRef, event: null, stored: null, samples: [], activity: nothing, recent: [], pull: nothing };
  const [stored = null] = await failFast(() => listEndpoints(deps.pool, context.publisher.id, ref));
  if (stored === null && typeof ref === 'number') throw new AppError('not_found');
  const name = typeof ref === 'string' ? ref : stored?.endpoint.event;
  const event = name ? requireEventType(deps.events, name) : null;
  const { publisher } = context;
  const sampled =
    event === null ? (stored?.endpoint.events ?? []).flatMap((eventName) => deps.events.get(eventName) ?? []) : [event];
  const samples = sampled.map(({ name, sample }) => ({
    event: name,
    payload: sample({ publisher, publicUrl: deps.config.publicUrl, nowMs: deps.now() }).toString('utf8'),
  }));
  const activity = stored === null ? nothing : await activityOf({ deps, failFast }, context, stored.endpoint.id);
  const recent = stored === null ? [] : await recentDeliveries({ deps, failFast }, publisher.id, stored.endpoint.id);
  const pull = stored === null ? nothing : pullCard(stored, deps.config.publicUrl);
  return { ref: String(ref), event, stored, samples, activity, recent, pull };
}

/** Number of deliveries that the preview of a transformation offers. */
const recentCount = 10;

async function recentDeliveries(
  { deps: { pool }, failFast }: { deps: Scope['deps']; failFast: Scope['failFast'] },
  publisherId: number,
  endpointId: number,
): Promise<EndpointTarget['recent']> {
  const any = { event: null, statuses: null, fromMs: null, toMs: null, sessionId: null, pubUserId: null };
  return failFast(async () => {
    const { keys } = await findPage(pool, { ...any, publisherId, endpointId }, null, recentCount);
    return (await readDeliveries(pool, keys)).filter(({ erased_at: erasedAt }) => erasedAt === null);
  });
}

async function save(scope: Scope, context: PublisherContext, submitted: Fields): Promise<PageResult> {
  const { deps, failFast } = scope;
  const savedRef = refOf(scope, context);
  const [stored = null] =
    savedRef === null ? [] : await failFast(() => listEndpoints(deps.pool, context.publisher.id, savedRef));
  const storedValues = endpointToForm(stored);
  const fields = withStored(submitted, storedValues);
  try {
    requireUnchanged(submitted, storedValues);
    const { endpoint, secret } = await store(scope, context, fields);
    const ref = endpoint.event ?? endpoint.id;
    if (secret === null) return { to: context.path(`${basePath}/${ref}`), done: t('webhooks.saved') };
    return endpointPage(context, deps.events, await targetOfPage(scope, context, ref), { secret });
  } catch (err) {
    return show(scope, context, {
      typed: typedEndpoint(fields),
      errors: fieldErrorsOf(err).map(inField(chosenKind(fields))),
    });
  }
}

async function activityOf(
  { deps: { pool, now }, failFast }: { deps: Scope['deps']; failFast: Scope['failFast'] },
  context: PublisherContext,
  endpointId: number,
): Promise<Html> {
  const nowMs = now();
  const rows = await failFast(() => readActivity(pool, endpointId, activitySinceMs(nowMs)));
  return activityCard(context, rows, nowMs);
}

/**
 * Assigns errors to fields of the form: errors in individual headers to the field that contains all headers, and those
 * of a destination to the fields of its kind.
 */
const inField =
  (kind: string) =>
  ({ path, message }: FieldErrors[number]): FieldErrors[number] => {
    const [, field = '', name] = path.split('/');
    if (field === 'destination' && name !== undefined) return { path: `/${kind}/${name}`, message };
    return field === 'headers' && name !== undefined
      ? { path: '/headers', message: `${name}: ${message}` }
      : { path, message };
  };

/**
 * Saves the endpoint form: creates an endpoint, sets the default endpoint of an event, or updates an existing
 * additional endpoint.
 */
async function store(scope: Scope, context: PublisherContext, fields: Fields): Promise<Saved> {
  const { secretBox: box, events: eventTypes } = scope.deps;
  const kind = chosenKind(fields);
  const typedSettings = readSettings(fields, kind);
  const { transformation } = typedSettings;
  await scope.deps.transformer.check(transformation, context.publisher.id);
  const lists = { ...readLists(fields), signature_v1a: fields.checked('signature_v1a') };
  const target = readTarget(fields, kind);
  const settingsOf = (stored: Endpoint | null) => {
    const checked = checkSettings({ ...lists, ...target, transformation }, { box, stored, rules: scope.urlRules });
    return { ...checked, url: checked.url ?? '', method: target.method, ...typedSettings };
  };
  const listed = (): string[] => [...(readEvents(requireSome(fields.all('events')), eventTypes).events ?? [])];
  const ref = refOf(scope, context);
  if (ref === null) {
    const events = listed();
    return inTransaction(scope, context, (work) =>
      createEndpoint(work, box, () => addEndpoint(work.executor, box, { ...work, ...settingsOf(null), events })),
    );
  }
  return inTransaction(scope, context, ({ executor, ...work }) =>
    changeEndpoint({ executor, ...work }, ref, box, async (key, stored) => {
      const settings = settingsOf(stored);
      if (typeof ref === 'string') return saveEndpoint(executor, box, { ...work, ...settings, event: ref });
      const events = stored?.event === null ? { events: listed() } : {};
      return { endpoint: await updateEndpoint(executor, box, key, { ...settings, ...events }), secret: null };
    }),
  );
}

function requireSome(events: string[]): string[] {
  if (events.length > 0) return events;
  throw new AppError('invalid_endpoint', {
    details: [{ path: '/events', message: new Problem('webhooks.chooseEvent') }],
  });
}

/** Sends a test event to the URL in the form. If scripts are enabled, the result replaces only a part of the page. */
async function test(scope: Scope, context: PublisherContext, fields: Fields): Promise<PageResult> {
  const { pool, now, config, sender, transformer } = scope.deps;
  const { publisher, request } = context;
  const answer = (result: Html) =>
    isFragmentRequest(request) ? { fragment: result } : show(scope, context, { typed: typedEndpoint(fields), result });
  const ref = refOf(scope, context);
  const saved = ref === null ? null : await scope.failFast(() => findEndpoint(pool, publisher.id, ref));
  const event = testedEvent(scope, typeof ref === 'string' ? ref : (fields.all('events')[0] ?? saved?.events[0]));
  let target: TestTarget;
  try {
    await scope.failFast(() => takeTestToken(pool, publisher.id, now()));
    const requested = { ...readTarget(fields, chosenKind(fields)), transformation: readTransformation(fields) };
    target = readTestTarget(event, requested, saved, { ...scope.deps, rules: scope.urlRules });
  } catch (err) {
    return answer(notice('failed', html`<p>${testError(err)}</p>`));
  }
  const tools = { sender, transformer, publisher, publicUrl: config.publicUrl, now };
  return answer(testResult(await testEndpoint(target, tools)));
}

/** Applies the transformation in the form to an event. If scripts are enabled, only the preview is replaced. */
async function preview(scope: Scope, context: PublisherContext, fields: Fields): Promise<PageResult> {
  const source = previewSourceOf(fields.text('preview_of'));
  const run = async (): Promise<Html> => {
    try {
      const transformation = readTransformation(fields);
      return previewResult(
        await scope.failFast(() => previewTransformation(scope.deps, context.publisher, transformation, source)),
      );
    } catch (err) {
      return notice('failed', html`<p>${fieldErrorsOf(err)[0]?.message ?? reasonOf(err)}</p>`);
    }
  };
  const result = await run();
  return isFragmentRequest(context.request)
    ? { fragment: result }
    : show(scope, context, { typed: typedEndpoint(fields), preview: result });
}

/** Returns the event type for the test, which is the first one that the endpoint receives or would receive. */
function testedEvent({ deps: { events } }: Scope, name: string | undefined): EventType {
  const [first] = events.values();
  const event = (name === undefined ? undefined : events.get(name)) ?? first;
  if (event === undefined) throw new AppError('not_found');
  return event;
}

function testError(err: unknown): string {
  if (err instanceof AppError && err.code === 'too_many_requests') return t('webhooks.tooManyTests');
  return t('webhooks.urlError', { reason: reasonOf(err) });
}
