import type { PublisherContext } from '../../../catalog/pages.ts';
import { type TranslatedText, type Translation, translatedTexts } from '../../../catalog/types.ts';
import type { View } from '../../../management/resource.ts';
import { etagOf, PreconditionFailed } from '../../../management/rows.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { en } from '../../../platform/i18n/en.ts';
import { languageOf, languages } from '../../../platform/i18n/languages.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { canonicalTag, chainOf, directionOf } from '../../../platform/lib/language-tags.ts';
import { actionButton, badge, hiddenField, readOnlyFields, saveForm, tabs } from '../../../shell/components.ts';
import { type FieldErrors, type Fields, fieldErrorsOf, hasRole, keyIn, queryText } from '../../../shell/context.ts';
import { fieldName, languageName, unknownLanguageText } from '../../../shell/format.ts';
import { createForm, type FormBuilder } from '../../../shell/forms.ts';
import type { Page } from '../../../shell/layout.ts';
import type { PageResult, Pages } from '../../../shell/pages.ts';
import { versionField } from '../../../shell/row-list.ts';
import { campaigns } from '../../resources/campaigns.ts';
import { offers } from '../../resources/offers.ts';
import { idealLengthIn, maxLengthOf } from '../../resources/translations.ts';
import type { PageServices } from '../services.ts';
import { offerName } from './offer-list.ts';

const path = '/offers/:key/languages';

type Texts = Readonly<Record<TranslatedText, string>>;

/** Offer being translated. `originals` contains the offer's own copy and its campaign's description. */
type Edited = { offer: View; originals: Texts; translations: Readonly<Record<string, Translation>> };

type Refused = { typed: Translation; errors: FieldErrors };

/** Registers the page that shows an offer's copy side by side with its translation into one language. */
export function translatePages(pages: Pages<PublisherContext>, services: PageServices): void {
  pages.get(path, 'analyst', async (context) => {
    const edited = await read(services, context);
    const typed = queryText(context, 'tag');
    const tag = canonicalTag(typed);
    const isListed = tag !== null && tag in edited.translations;
    const wrong = typed === '' || isListed ? null : unknownLanguageText(typed);
    const current = (wrong === null ? tag : null) ?? Object.keys(edited.translations).sort()[0] ?? null;
    return editor(context, edited, current, null, { typed, wrong });
  });
  pages.post(path, 'manager', (context, fields) => save(services, context, fields));
  pages.post(`${path}/remove`, 'manager', async (context, fields) => {
    const { offer, translations } = await read(services, context);
    const tag = fields.text('tag');
    const { [tag]: removed = {}, ...others } = translations;
    await services.management.update(context, offers, keyIn(context), { translations: others }, null);
    const to = pathOf(context, offer);
    const undo = { to, values: { ...removed, tag } };
    return { to, done: t('languages.removed', { language: nameOf(tag) }), undo };
  });
}

const pathOf = (context: PublisherContext, offer: View): string => context.path(`/offers/${offer.id}/languages`);

const nameOf = (tag: string): string => languageName(canonicalTag(tag) ?? 'und');

async function read({ management }: PageServices, context: PublisherContext): Promise<Edited> {
  const offer = await management.get(context, offers, keyIn(context));
  const campaign = await management.get(context, campaigns, String(offer.campaign_id));
  const own: View = { ...offer, offer_description: campaign.offer_description };
  const originals = Object.fromEntries(translatedTexts.map((name) => [name, String(own[name] ?? '')])) as Texts;
  return { offer, originals, translations: offer.translations as Edited['translations'] };
}

async function save(services: PageServices, context: PublisherContext, fields: Fields): Promise<PageResult> {
  const edited = await read(services, context);
  const tag = canonicalTag(fields.text('tag'));
  if (tag === null) return { to: pathOf(context, edited.offer), failed: unknownLanguageText(fields.text('tag')) ?? '' };
  const typed: Translation = Object.fromEntries(translatedTexts.map((name) => [name, fields.text(name)]));
  try {
    const translations = { ...edited.translations, [tag]: typed };
    const version = fields.text(versionField) || null;
    await services.management.update(context, offers, keyIn(context), { translations }, version);
    const to = `${pathOf(context, edited.offer)}?tag=${tag}`;
    return { to, done: t('crud.saved', { name: nameOf(tag) }) };
  } catch (err) {
    const prefix = `/translations/${tag}`;
    const errors: FieldErrors =
      err instanceof PreconditionFailed
        ? [{ path: '/', message: t('settings.conflict') }]
        : fieldErrorsOf(err).map((error) => ({ ...error, path: error.path.replace(prefix, '') }));
    return editor(context, edited, tag, { typed, errors });
  }
}

/** Language that the user wants to add, with the reason why it cannot be added, or null if it can. */
type AddedLanguage = { typed: string; wrong: string | null };

function editor(
  context: PublisherContext,
  edited: Edited,
  tag: string | null,
  refused: Refused | null,
  added: AddedLanguage = { typed: '', wrong: null },
): Page {
  const { offer, translations } = edited;
  const to = pathOf(context, offer);
  const canEdit = hasRole(context.viewer.user.role, 'manager');
  const listed = [...new Set([...Object.keys(translations), ...(tag === null ? [] : [tag])])].sort();
  const languages = listed.map((language) => ({
    text: nameOf(language),
    href: `${to}?tag=${language}`,
    current: language === tag,
  }));
  return {
    title: t('languages.title'),
    lead: t('languages.editorLead'),
    nav: 'offers',
    assets: ['pickers.js'],
    trail: [
      { text: t('nav.offers'), href: context.path('/offers') },
      { text: offerName(offer), href: context.path(`/offers/${offer.id}`) },
    ],
    status: refused === null && added.wrong === null ? 200 : 422,
    actions: tag !== null && canEdit && tag in translations ? removeButton(context, to, tag) : nothing,
    body: html`
      ${languages.length > 0 && tabs(t('languages.title'), languages)}
      ${tag !== null && textsCard(context, edited, tag, refused)}
      ${canEdit && addForm(to, context.path('/options?kind=languages'), added)}`,
  };
}

const removeButton = (context: PublisherContext, to: string, tag: string): Html =>
  actionButton(context, {
    to: `${to}/remove`,
    text: t('common.remove'),
    kind: 'danger',
    values: { tag },
    confirm: t('languages.removeConfirm', { language: nameOf(tag) }),
  });

function addForm(to: string, suggestFrom: string, { typed, wrong }: AddedLanguage): Html {
  const form = wrong === null ? createForm({}) : createForm({ tag: typed }, [{ path: '/tag', message: wrong }]);
  return html`
    <section class="card">
      <form class="form" method="get" action="${to}" novalidate>
        ${form.input('tag', {
          label: t('languages.add'),
          hint: t('languages.addHint'),
          required: true,
          autofocus: wrong !== null,
          suggestFrom,
        })}
        <div class="form-end"><button class="button">${t('languages.addButton')}</button></div>
      </form>
    </section>`;
}

function textsCard(context: PublisherContext, edited: Edited, tag: string, refused: Refused | null): Html {
  const { offer, originals, translations } = edited;
  const texts = refused?.typed ?? translations[tag] ?? {};
  const form = createForm(texts, refused?.errors);
  const requiredTexts = translatedTexts.filter((name) => originals[name] !== '' || (texts[name] ?? '') !== '');
  const missing = requiredTexts.filter((name) => (texts[name] ?? '') === '').length;
  const tooLong = requiredTexts.filter((name) => isTooLong(name, texts)).length;
  const fields = html`
    <p>
      ${missing > 0 && badge(t('languages.missingCount', { count: missing }), 'warn')}
      ${tooLong > 0 && badge(t('languages.tooLongCount', { count: tooLong }), 'warn')}
      ${missing + tooLong === 0 && badge(t('languages.complete'), 'good')}
    </p>
    ${requiredTexts.map((name) => textPair(form, edited, tag, { name, texts }))}`;
  const hidden = html`${hiddenField('tag', tag)}${hiddenField(versionField, etagOf(offer))}`;
  const body = html`${hidden}${form.summary()}${fields}`;
  const isEditable = hasRole(context.viewer.user.role, 'manager');
  const content = isEditable ? saveForm(context, pathOf(context, offer), body) : readOnlyFields(fields);
  return html`<section class="card">${content}</section>`;
}

const isTooLong = (name: TranslatedText, texts: Translation): boolean =>
  [...(texts[name] ?? '')].length > (idealLengthIn(name) ?? maxLengthOf(name));

type Pair = { name: TranslatedText; texts: Translation };

/** Renders an original string next to the field for its translation. */
function textPair(form: FormBuilder, edited: Edited, tag: string, { name, texts }: Pair): Html {
  const { offer, originals, translations } = edited;
  const label = fieldName(name);
  const [maxLength, idealLength] = [maxLengthOf(name), idealLengthIn(name)];
  const isMissing = (texts[name] ?? '') === '';
  const instead = shownInstead(translations, tag, name) ?? inUnit(tag, name, originals[name]);
  const hint = isMissing
    ? instead === originals[name]
      ? t('languages.originalShown')
      : t('languages.shownInstead', { text: instead })
    : isTooLong(name, texts)
      ? t('languages.isTooLong')
      : undefined;
  const options = {
    label,
    maxLength,
    ...(idealLength !== null && { idealLength }),
    ...(hint !== undefined && { hint }),
  };
  const language = typeof offer.language === 'string' ? html` lang="${offer.language}"` : nothing;
  const field = maxLength > 100 ? form.textarea(name, options) : form.input(name, options);
  return html`
    <div class="columns pair${isMissing && ' missing'}">
      <div class="field">
        <div class="label">${label}</div>
        <p class="original"${language} dir="auto">${originals[name]}</p>
      </div>
      <div lang="${tag}" dir="${directionOf(tag)}">${field}</div>
    </div>`;
}

/** Returns a string as the offer unit shows it. The unit translates button labels that equal the English default. */
function inUnit(tag: string, name: TranslatedText, text: string): string {
  const { offer: defaults } = en.endUser.unit;
  if ((name !== 'cta_yes' && name !== 'cta_no') || text !== defaults[name]) return text;
  const { offer } = languages[languageOf(tag) ?? 'en'].texts.endUser.unit;
  return offer[name];
}

/** Returns the text from a fallback language that is shown if the translation is missing, such as `pt` for `pt-BR`. */
const shownInstead = (translations: Edited['translations'], tag: string, name: TranslatedText): string | undefined => {
  const byLowerCase = new Map(Object.entries(translations).map(([language, texts]) => [language.toLowerCase(), texts]));
  return chainOf(tag)
    .slice(1)
    .map((fallback) => byLowerCase.get(fallback)?.[name])
    .find((text) => text !== undefined && text !== '');
};
