import { Readable } from 'node:stream';
import type { PublisherContext } from '../../catalog/pages.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import type { View } from '../../management/resource.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import {
  badge,
  card,
  collapsedCard,
  csrfField,
  drawnChart,
  link,
  notice,
  saveForm,
  strongLink,
  table,
} from '../../shell/components.ts';
import { type FieldErrors, type Fields, fieldErrorsOf, hasRole, keyIn, viewerOf } from '../../shell/context.ts';
import { checkButton, fileCheckArea, fileFields, filePreview, readFileForm } from '../../shell/files.ts';
import { count, moment, momentText, percent, utc } from '../../shell/format.ts';
import { columns, createForm, type FormBuilder } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { isFragmentRequest, type PageResult, type Pages, type Upload } from '../../shell/pages.ts';
import { audiences, findAudience, listId } from '../audiences.ts';
import { type Import, listImports } from '../import/imports.ts';
import { type ImportDeps, importMembers } from '../import/run.ts';
import { findMembership, type Membership, readGrowth, readOverlap, readOverlaps } from '../members/queries.ts';
import { findTraffic, type Traffic } from '../members/traffic.ts';
import { type AudienceUse, findUses } from '../members/uses.ts';
import type { Rule } from '../rules/rule.ts';
import { refusalOfId } from '../user-ids.ts';

export type MemberServices = { importDeps: ImportDeps; management: ManagementClient };

const pathOf = ({ path }: PublisherContext, key: string): string => path(`/audiences/${encodeURIComponent(key)}`);

/** Registers the actions on the members of an audience. */
export function memberPages(pages: Pages<PublisherContext>, services: MemberServices): void {
  const { management } = services;
  pages.post('/audiences/:key/members', 'admin', (context, fields, upload) =>
    addMembers(services, context, fields, upload),
  );
  pages.post('/audiences/:key/find', 'admin', async (context, fields) => {
    const key = keyIn(context);
    const audience = await management.read(context, (work) => findAudience(work, key));
    const { rule } = await management.get(context, audiences, audience.key);
    const { id, refusal } = refusalOfId(fields.text('pub_user_id'));
    const to = pathOf(context, key);
    if (refusal !== null) return { to, failed: t('audiences.noId') };
    const userKeys = services.importDeps.userKeys.allOf(context.publisher.id, id);
    const membership = await management.read(context, ({ executor, nowMs }) =>
      findMembership(executor, audience.id, userKeys, nowMs),
    );
    return { to, done: membershipText(context, membership, rule as Rule | null) };
  });
  pages.post('/audiences/:key/overlap', 'admin', async (context, fields) => {
    const key = keyIn(context);
    if (fields.text('other') === '') return overlapPage(services, context, key);
    const { users, size, otherSize } = await management.read(context, async (work) => {
      const [audience, other] = [await findAudience(work, key), await findAudience(work, fields.text('other'))];
      return readOverlap(work.executor, audience.id, other.id, work.nowMs);
    });
    const shareOf = (members: number): string => percent(members === 0 ? 0 : users / members);
    const overlap = { users, other: fields.text('other'), share: shareOf(size), otherShare: shareOf(otherSize) };
    return { to: pathOf(context, key), done: t('audiences.overlapIs', overlap) };
  });
}

/** Renders how many members an audience has in common with each other audience. */
async function overlapPage({ management }: MemberServices, context: PublisherContext, key: string): Promise<Page> {
  const overlaps = await management.read(context, async (work) =>
    readOverlaps(work.executor, (await findAudience(work, key)).id, work.nowMs),
  );
  const { name, size } = await management.get(context, audiences, key);
  const shareOf = (users: number, members: number): string => percent(members === 0 ? 0 : Math.min(1, users / members));
  const columns = [
    { text: t('audiences.other') },
    { text: t('audiences.shared'), numeric: true },
    { text: t('audiences.ofThis'), numeric: true },
    { text: t('audiences.ofOther'), numeric: true },
  ];
  const rows = overlaps.map((other) => [
    link(pathOf(context, other.key), other.name),
    count(other.users),
    shareOf(other.users, Number(size)),
    shareOf(other.users, other.size),
  ]);
  return {
    title: t('audiences.overlaps'),
    lead: t('audiences.overlapsLead', { name: String(name) }),
    nav: 'audiences',
    trail: [
      { text: t('audiences.title'), href: context.path('/audiences') },
      { text: String(name), href: pathOf(context, key) },
    ],
    body:
      rows.length === 0
        ? html`<p class="hint">${t('audiences.noOverlap')}</p>`
        : table(t('audiences.overlaps'), columns, rows),
  };
}

function membershipText(
  { publisher }: PublisherContext,
  { isMember, expiresAt, facts }: Membership,
  rule: Rule | null,
): string {
  const [newest] = facts;
  const why =
    newest === undefined ? '' : ` ${t('audiences.did', { times: facts.length, last: momentText(publisher, newest) })}`;
  const ends = expiresAt === null ? '' : ` ${t('audiences.until', { time: momentText(publisher, expiresAt) })}`;
  const needed = rule?.times ?? 1;
  const missing = isMember || rule === null ? '' : ` ${t('audiences.didTooFew', { needed })}`;
  return `${t(isMember ? 'audiences.isIn' : 'audiences.isNotIn')}${why}${missing}${ends}`;
}

async function addMembers(
  { importDeps, management }: MemberServices,
  context: PublisherContext,
  fields: Fields,
  upload: Upload | null,
): Promise<PageResult> {
  const key = keyIn(context);
  const audienceId = await management.read(context, (work) => listId(work, key));
  const to = pathOf(context, key);
  const ids = fields.text('ids');
  const bytes = upload?.bytes ?? Buffer.from(ids);
  const file = readFileForm(fields, bytes);
  const { options } = file;
  const respond = async (errors: FieldErrors, check: Html = nothing): Promise<PageResult> => {
    if (isFragmentRequest(context.request))
      return { fragment: errors.length === 0 ? check : notice('failed', html`<p>${errors[0]?.message ?? ''}</p>`) };
    const { name } = await management.get(context, audiences, key);
    const typed = { ids, header: options.header ?? '', column: options.column ?? '', partial: options.isPartial };
    return {
      title: String(name),
      nav: 'audiences',
      trail: [{ text: t('audiences.title'), href: context.path('/audiences') }],
      status: errors.length === 0 ? 200 : 422,
      body: card(t('audiences.members'), addForm(context, to, createForm(typed, errors), check)),
    };
  };
  const refused = (message: string): Promise<PageResult> =>
    respond([{ path: upload === null ? '/ids' : '/file', message }]);
  if (bytes.toString().trim() === '') return refused(t('audiences.nobody'));
  try {
    const target = { publisherId: context.publisher.id, audienceId };
    const isDryRun = upload !== null && !file.isChecked;
    const done = await importMembers(importDeps, target, Readable.from([bytes]), { ...options, isDryRun });
    if ('imported' in done) return { to, done: importedText(done.imported) };
    const again = isFragmentRequest(context.request) ? nothing : html`<p>${t('files.chooseAgain')}</p>`;
    return respond([], filePreview(done.checked, file, again));
  } catch (err) {
    const [{ path, message } = { path: '', message: '' }] = fieldErrorsOf(err);
    const [, line] = /^\/lines\/(\d+)$/.exec(path) ?? [];
    return refused(
      line === undefined ? message : t('audiences.noneRead', { first: t('forms.line', { line, message }) }),
    );
  }
}

const importedText = ({ added, bad, errors }: Import): string =>
  bad === 0
    ? t('audiences.imported', { added })
    : t('audiences.importedSome', {
        added,
        bad,
        lines: errors
          .map(({ line }) => line)
          .slice(0, 10)
          .join(', '),
      });

/** Renders the cards below an audience's form: growth, adding members, and lookups. */
export async function memberCards(
  { management, importDeps: { userKeys } }: MemberServices,
  context: PublisherContext,
  view: View,
): Promise<Html> {
  const { growth, traffic, uses, imports } = await management.read(context, async (work) => {
    const { id } = await findAudience(work, String(view.key));
    const { executor, publisherId, nowMs } = work;
    return {
      growth: await readGrowth(executor, id),
      traffic: await findTraffic(executor, { publisherId, audienceId: id, userKeys, nowMs }),
      uses: await findUses(work, String(view.key)),
      imports: await listImports(executor, id, nowMs),
    };
  });
  const others = [...context.publisher.audiences.keys()]
    .filter((key) => key !== view.key)
    .map((key) => ({ value: key, text: key }));
  const isAdmin = hasRole(context.viewer.user.role, 'admin');
  const to = pathOf(context, String(view.key));
  return html`
    ${card(
      t('audiences.members'),
      html`
        <p>${t('audiences.memberCount', { users: Number(view.size) })} ${trafficText(traffic)}</p>
        ${growth.length > 1 ? growthChart(growth) : nothing}
        ${view.rule === null ? nothing : notice('info', html`<p>${t('audiences.byRule')}</p>`)}
        ${isAdmin && view.rule === null ? addForm(context, to, createForm({ ids: '' })) : nothing}`,
    )}
    ${isAdmin && traffic.members.length > 0 && sampleCard(context, traffic.members)}
    ${isAdmin ? card(t('audiences.questions'), questions(context, to, others)) : nothing}
    ${card(t('audiences.usedBy'), useList(context, uses), uses.length > 0 ? { lead: t('audiences.usedByLead') } : {})}
    ${imports.length > 0 && collapsedCard(t('audiences.imports'), importTable(context, imports))}`;
}

/** Renders members who have requested offers. Their IDs are not shown, but their sessions can be opened. */
function sampleCard({ publisher, path }: PublisherContext, members: Traffic['members']): Html {
  const columns = [
    { text: t('audiences.lastSession') },
    { text: t('settings.placement') },
    { text: t('audiences.memberUntil') },
  ];
  const rows = members.map(({ sessionId, at, placement, expiresAt }) => [
    strongLink(path(`/story/${sessionId}`), moment(publisher, at)),
    html`<code>${placement}</code>`,
    expiresAt === null ? t('audiences.unlimited') : moment(publisher, expiresAt),
  ]);
  return collapsedCard(t('audiences.sample'), table(t('audiences.sample'), columns, rows), {
    lead: t('audiences.sampleLead'),
  });
}

function useList(context: PublisherContext, uses: readonly AudienceUse[]): Html {
  if (uses.length === 0) return html`<p class="hint">${t('audiences.usedByNothing')}</p>`;
  const item = (use: AudienceUse): Html =>
    use.kind === 'audience'
      ? html`<li>${link(pathOf(context, use.key), use.name)} <span class="hint">${t('audiences.useRule')}</span></li>`
      : html`
        <li>
          ${link(context.path(`/campaigns/${use.id}`), use.name)}
          <span class="hint">${t(use.side === 'include' ? 'audiences.useInclude' : 'audiences.useExclude')}</span>
          ${!use.active && badge(t('campaigns.pausedState'), 'warn')}
        </li>`;
  return html`<ul class="facts">${uses.map(item)}</ul>`;
}

/** Maximum number of line numbers to show for skipped rows. */
const maxLines = 10;

function importTable({ publisher }: PublisherContext, imports: readonly Import[]): Html {
  const columns = [
    { text: t('audiences.importStarted') },
    { text: t('common.status') },
    { text: t('audiences.importRows'), numeric: true },
    { text: t('audiences.importAdded'), numeric: true },
    { text: t('audiences.importBad') },
  ];
  const cells = imports.map(({ startedAt, state, rows, added, bad, errors }) => [
    moment(publisher, startedAt),
    badge(t('audiences.importState', { state }), state === 'failed' ? 'bad' : state === 'done' ? 'good' : 'info'),
    count(rows),
    count(added),
    html`${count(bad)}${
      errors.length > 0 &&
      html`<br><small>${t('audiences.importLines', { lines: linesOf(errors).slice(0, maxLines).join(', ') })}</small>`
    }`,
  ]);
  return table(t('audiences.imports'), columns, cells);
}

const linesOf = (errors: Import['errors']): number[] => errors.map(({ line }) => line);

const trafficText = ({ share, sessions }: Traffic): string =>
  share === null ? '' : t('audiences.traffic', { share: percent(share), sessions });

const growthChart = (growth: readonly { atMs: number; members: number }[]): Html =>
  drawnChart({
    caption: t('audiences.growth'),
    heading: t('audiences.day'),
    times: growth.map(({ atMs }) => ({ text: momentText(utc, atMs, 'day'), atMs })),
    series: [{ label: t('audiences.members'), values: growth.map(({ members }) => members), summary: 'latest' }],
    format: count,
  });

function addForm(context: PublisherContext, to: string, form: FormBuilder, check: Html = nothing): Html {
  const file = html`
    <div class="label"><label for="f-members">${t('audiences.file')}</label></div>
    <input type="file" id="f-members" name="file" accept=".csv,.txt,text/csv,text/plain"
      aria-describedby="f-members-hint">
    <p class="hint" id="f-members-hint">${t('audiences.fileHint')}</p>`;
  return html`
    <form method="post" action="${to}/members" enctype="multipart/form-data" class="form" novalidate>
      ${csrfField(viewerOf(context.request))}
      ${form.textarea('ids', { label: t('audiences.ids'), hint: t('audiences.idsHint') })}
      ${form.custom('file', t('audiences.file'), file)}
      ${fileFields(form, { hasColumn: true })}
      <div class="form-end">
        ${checkButton(`${to}/members`)}<button class="button main">${t('audiences.add')}</button>
      </div>
      ${fileCheckArea(check)}
    </form>`;
}

function questions(context: PublisherContext, to: string, others: readonly { value: string; text: string }[]): Html {
  const form = createForm({ pub_user_id: '', other: '' });
  const user = form.input('pub_user_id', { label: t('audiences.user'), autocomplete: 'off', secret: true });
  return html`
    ${saveForm(context, `${to}/find`, columns([user]), { button: t('audiences.find'), kind: '' })}
    ${
      others.length === 0
        ? nothing
        : saveForm(
            context,
            `${to}/overlap`,
            columns([
              form.select('other', {
                label: t('audiences.other'),
                choices: [{ value: '', text: t('audiences.allOthers') }, ...others],
              }),
            ]),
            { button: t('audiences.countOverlap'), kind: '' },
          )
    }`;
}
