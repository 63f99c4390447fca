import { type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { card, csrfField, emptyState, link, table } from '../../../shell/components.ts';
import { type Fields, hasRole, queryText } from '../../../shell/context.ts';
import { checkButton, type FileForm, fileCheckArea, fileFields, importByForm } from '../../../shell/files.ts';
import { count, exactNumber, moment, utc } from '../../../shell/format.ts';
import { columns, createForm } from '../../../shell/forms.ts';
import type { Page } from '../../../shell/layout.ts';
import type { PageResult, Upload } from '../../../shell/pages.ts';
import { importRates, maxRateFileBytes, type RateFileOptions } from '../../resources/exchange-rate-file.ts';
import { type ExchangeRatesView, getExchangeRates } from '../../resources/exchange-rates.ts';
import type { PageServices } from '../services.ts';

const path = '/settings/exchange-rates';
const writes = 'admin';
const fileField = 'rates_file';

/** Maximum number of rates per currency shown on the page. */
const maxListed = 400;

/** Registers the pages for a publisher's exchange rates and for importing them from a file. */
export function exchangeRatePages(app: App, services: PageServices): void {
  const pages = publisherPages(app, services);
  pages.get(path, 'analyst', (context) => ratesPage(services, context));
  pages.post(`${path}/import`, writes, (context, fields, upload) => importFile(services, context, fields, upload));
}

/** Reads the import options from the form. The dry run and the import must use the same options. */
const optionsOf = (fields: Fields, { options }: FileForm, isDryRun: boolean): RateFileOptions => ({
  isDryRun,
  isPartial: options.isPartial,
  base: fields.text('base').trim().toUpperCase() || null,
  hasDecimalComma: fields.text('decimal') === 'comma',
  replaces: fields.checked('replace'),
});

const importFile = (
  services: PageServices,
  context: PublisherContext,
  fields: Fields,
  upload: Upload | null,
): Promise<PageResult> =>
  importByForm(
    { request: context.request, to: context.path(path), fields, upload },
    {
      maxBytes: maxRateFileBytes,
      fieldNames: ['base', 'decimal', 'replace'],
      run: (bytes, file, isDryRun) => {
        const options = optionsOf(fields, file, isDryRun);
        const run = isDryRun ? services.management.read : services.management.write;
        return run(context, (work) => importRates(work, bytes, options));
      },
      doneText: ({ changed, removed }) => t('exchangeRates.imported', { changed, removed }),
      previewText: ({ changed, removed, base }) => t('exchangeRates.wouldChange', { changed, removed, base }),
      refusedText: (reasons) => t('exchangeRates.refused', { reasons }),
      page: (check) => ratesPage(services, context, { check, fields }),
    },
  );

type Checked = { check: Html; fields: Fields | null };

async function ratesPage(
  { management }: PageServices,
  context: PublisherContext,
  { check, fields }: Checked = { check: nothing, fields: null },
): Promise<Page> {
  const { view } = await management.read(context, getExchangeRates);
  const currency = queryText(context, 'currency').toUpperCase();
  const listed = view.rates.filter((rate) => rate.currency === currency);
  return {
    title: t('exchangeRates.title'),
    lead: t('exchangeRates.lead'),
    nav: 'exchange-rates',
    body: html`
      ${baseText(context, view)}
      ${view.rates.length === 0 ? emptyState('rates', t('exchangeRates.none'), t('exchangeRates.noneText')) : nothing}
      ${view.rates.length > 0 && (listed.length > 0 ? ratesOf(currency, view, listed) : latestRates(context, view))}
      ${hasRole(context.viewer.user.role, writes) ? importCard(context, view, { check, fields }) : nothing}`,
  };
}

function baseText({ path: to }: PublisherContext, { base, reporting_currency: reporting }: ExchangeRatesView): Html {
  const settings = (text: Html) => link(to('/settings'), text);
  return html`
    <p>
      ${base !== null && t('exchangeRates.base', { base })}
      ${
        reporting === null
          ? tHtml('exchangeRates.noReporting', { a: settings })
          : tHtml('exchangeRates.reporting', { currency: reporting, a: settings })
      }
    </p>`;
}

/** Renders a table with the latest rate of each currency. */
function latestRates({ path: to }: PublisherContext, { base, rates }: ExchangeRatesView): Html {
  const counts = new Map<string, number>();
  for (const { currency } of rates) counts.set(currency, (counts.get(currency) ?? 0) + 1);
  const latest = rates.filter(({ currency }, at) => rates[at - 1]?.currency !== currency);
  return table(
    t('exchangeRates.latest'),
    [
      { text: t('exchangeRates.currency') },
      { text: t('exchangeRates.rate', { base: base ?? '' }), numeric: true },
      { text: t('exchangeRates.validFrom') },
      { text: t('exchangeRates.count'), numeric: true },
    ],
    latest.map(({ currency, rate, valid_from: day }) => [
      link(`${to(path)}?currency=${currency}`, currency),
      exactNumber(rate),
      moment(utc, day, 'day'),
      count(counts.get(currency) ?? 0),
    ]),
  );
}

const ratesOf = (currency: string, { base }: ExchangeRatesView, rates: ExchangeRatesView['rates']): Html => html`
  ${table(
    t('exchangeRates.ratesOf', { currency }),
    [{ text: t('exchangeRates.validFrom') }, { text: t('exchangeRates.rate', { base: base ?? '' }), numeric: true }],
    rates.slice(0, maxListed).map(({ rate, valid_from: day }) => [moment(utc, day, 'day'), exactNumber(rate)]),
  )}
  ${rates.length > maxListed && html`<p class="hint">${t('exchangeRates.more', { count: maxListed })}</p>`}`;

function importCard(context: PublisherContext, { base }: ExchangeRatesView, { check, fields }: Checked): Html {
  const values = ['base', 'decimal', 'replace', 'partial'].map((name) => [name, fields?.text(name) ?? '']);
  const form = createForm({ ...Object.fromEntries(values), base: fields?.text('base') ?? base ?? '' });
  const to = `${context.path(path)}/import`;
  return card(
    t('exchangeRates.import'),
    html`
      <form class="form upload" method="post" enctype="multipart/form-data" action="${to}">
        ${csrfField(context.viewer)}
        <div class="field">
          <div class="label"><label for="f-rates-file">${t('exchangeRates.file')}</label></div>
          <input type="file" id="f-rates-file" name="${fileField}" accept=".csv,text/csv" required>
        </div>
        ${columns([
          form.input('base', { label: t('exchangeRates.baseField'), hint: t('exchangeRates.baseHint') }),
          form.select('decimal', {
            label: t('exchangeRates.decimal'),
            choices: (['point', 'comma'] as const).map((value) => ({
              value,
              text: t('exchangeRates.decimalSign', { sign: value }),
            })),
          }),
        ])}
        ${form.checkbox('replace', { label: t('exchangeRates.replace') })}
        ${fileFields(form, { hasColumn: false })}
        <div class="form-end">${checkButton(to)}</div>
        ${fileCheckArea(check)}
      </form>`,
    { lead: t('exchangeRates.importLead') },
  );
}
