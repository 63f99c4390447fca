import type { PublisherContext } from '../../../catalog/pages.ts';
import type { View } from '../../../management/resource.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { canonicalTag } from '../../../platform/lib/language-tags.ts';
import { badge, card, csrfField, emptyState, link, linkButton, strongLink, table } from '../../../shell/components.ts';
import { type Fields, hasRole, queryText } from '../../../shell/context.ts';
import { checkButton, fileCheckArea, fileFields, importByForm } from '../../../shell/files.ts';
import { count, languageName, unknownLanguageText } from '../../../shell/format.ts';
import { columns, createForm } from '../../../shell/forms.ts';
import type { Page } from '../../../shell/layout.ts';
import type { PageResult, Pages, Upload } from '../../../shell/pages.ts';
import {
  countTranslations,
  findUntranslated,
  type TranslationCounts,
  type Untranslated,
} from '../../resources/translation-counts.ts';
import { exportTranslations, runImport } from '../../resources/translation-file.ts';
import { idOf, maxTranslationBytes } from '../../resources/translation-routes.ts';
import type { PageServices } from '../services.ts';

const path = '/languages';
const fileField = 'texts_file';

/** Registers the pages that show the translation progress of offers, and that export and import offer copy as files. */
export function languagePages(pages: Pages<PublisherContext>, services: PageServices): void {
  const { management } = services;
  pages.get(path, 'analyst', (context) => overview(services, context));
  pages.get(`${path}/export`, 'analyst', async (context) => {
    const typed = queryText(context, 'languages');
    const wrong = namesIn(typed).flatMap((name) => unknownLanguageText(name) ?? []);
    if (wrong.length > 0) return overview(services, context, nothing, { typed, wrong: wrong.join(' ') });
    const tags = namesIn(typed).flatMap((name) => canonicalTag(name) ?? []);
    const offerId = idOf('offer_id', queryText(context, 'offer_id') || undefined);
    const filter = { campaignId: null, offerId, languages: tags };
    const download = await management.read(context, (work) => exportTranslations(work, filter));
    return { download, type: 'text/csv; charset=utf-8', name: `translations-${context.publisher.id}.csv` };
  });
  pages.post(`${path}/import`, 'manager', (context, fields, upload) => importFile(services, context, fields, upload));
}

const namesIn = (list: string): string[] => list.split(/[\s,]+/).filter((name) => name !== '');

/** Languages of an export that cannot be made, with the reason. */
type RefusedExport = { typed: string; wrong: string };

const importFile = (
  services: PageServices,
  context: PublisherContext,
  fields: Fields,
  upload: Upload | null,
): Promise<PageResult> =>
  importByForm(
    { request: context.request, to: context.path(path), fields, upload },
    {
      maxBytes: maxTranslationBytes,
      run: (bytes, { options }, isDryRun) => {
        const write = (run: Parameters<Parameters<typeof runImport>[1]>[0]) => services.management.write(context, run);
        return runImport({ ...options, isDryRun }, write, bytes);
      },
      doneText: ({ texts, offers }) => t('languages.imported', { texts, offers }),
      previewText: ({ texts, offers }) => t('languages.wouldChange', { texts, offers }),
      refusedText: (first, number) => t('languages.refused', { count: number, first }),
      page: (check) => overview(services, context, check),
    },
  );

async function overview(
  { management }: PageServices,
  context: PublisherContext,
  check = nothing,
  refused: RefusedExport | null = null,
): Promise<Page> {
  const tag = canonicalTag(queryText(context, 'tag'));
  const [counts, untranslated] = await Promise.all([
    management.read(context, countTranslations),
    tag === null ? nothing : untranslatedCard(management, context, tag),
  ]);
  return {
    title: t('languages.title'),
    lead: t('languages.lead'),
    nav: 'languages',
    status: refused === null ? 200 : 422,
    body: html`
      ${counts.length === 0 ? noLanguages(context) : countsTable(context, counts)}
      ${untranslated}
      ${filesCard(context, check, refused)}`,
  };
}

const noLanguages = ({ path: to }: PublisherContext): Html =>
  emptyState(
    'languages',
    t('languages.none'),
    t('languages.noneText'),
    linkButton(to('/offers'), t('nav.offers'), 'main'),
  );

const countsTable = ({ path: to }: PublisherContext, counts: readonly TranslationCounts[]): Html =>
  table(
    t('languages.title'),
    [
      { text: t('languages.language') },
      { text: t('languages.offers'), numeric: true },
      { text: t('languages.missing'), numeric: true },
      { text: t('languages.tooLong'), numeric: true },
    ],
    counts.map(({ tag, offers, missing, tooLong }) => [
      nameAndTag(to(`${path}?tag=${tag}`), tag),
      count(offers),
      missing === 0 ? '0' : badge(count(missing), 'warn'),
      tooLong === 0 ? '0' : badge(count(tooLong), 'warn'),
    ]),
  );

const nameAndTag = (href: string, tag: string): Html =>
  html`${strongLink(href, languageName(tag))} <code>${tag}</code>`;

async function untranslatedCard(
  management: PageServices['management'],
  context: PublisherContext,
  tag: string,
): Promise<Html> {
  const untranslated = await management.read(context, (work) => findUntranslated(work, tag));
  const to = (id: number): string => context.path(`/offers/${id}/languages?tag=${tag}`);
  const item = ({ id, title, missing }: Untranslated): Html => {
    const lacks = badge(t('languages.missingCount', { count: missing }), 'warn');
    return html`<li>${link(to(id), title || t('offers.unnamed', { id }))} ${lacks}</li>`;
  };
  const list =
    untranslated.length === 0
      ? html`<p>${t('languages.complete')}</p>`
      : html`<ul class="link-list">${untranslated.map(item)}</ul>`;
  return card(t('languages.toTranslate', { language: languageName(tag) }), list);
}

function filesCard(context: PublisherContext, check: Html, refused: RefusedExport | null): Html {
  const form = createForm({});
  const exportForm =
    refused === null
      ? form
      : createForm({ languages: refused.typed }, [{ path: '/languages', message: refused.wrong }]);
  const to = context.path(path);
  const file = html`
    <div class="field">
      <div class="label"><label for="f-texts-file">${t('languages.file')}</label></div>
      <input type="file" id="f-texts-file" name="${fileField}" accept=".csv,text/csv" required>
    </div>`;
  const exporting = html`
    <form class="form" method="get" action="${to}/export">
      ${columns([
        exportForm.input('languages', {
          label: t('languages.columns'),
          hint: t('languages.columnsHint'),
          autofocus: refused !== null,
        }),
      ])}
      <div class="form-end"><button class="button">${t('languages.export')}</button></div>
    </form>`;
  const importing = hasRole(context.viewer.user.role, 'manager')
    ? html`
      <form class="form upload" method="post" enctype="multipart/form-data" action="${to}/import">
        ${csrfField(context.viewer)}${file}${fileFields(form, { hasColumn: false })}
        <div class="form-end">${checkButton(`${to}/import`)}</div>
        ${fileCheckArea(check)}
      </form>`
    : nothing;
  return card(t('languages.files'), html`${exporting}${importing}`, { lead: t('languages.filesLead') });
}

/** Renders a card with the languages of an offer. */
export function languagesCard(context: PublisherContext, offer: View): Html {
  const tags = Object.keys(offer.translations as object).sort();
  const to = context.path(`/offers/${offer.id}/languages`);
  const list =
    tags.length === 0
      ? html`<p class="hint">${t('languages.noneOfOffer')}</p>`
      : html`<ul>${tags.map((tag) => html`<li>${nameAndTag(`${to}?tag=${tag}`, tag)}</li>`)}</ul>`;
  const actions = linkButton(to, t('languages.edit'));
  return html`<div id="languages">${card(t('languages.title'), list, { actions })}</div>`;
}
