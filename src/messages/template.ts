import type { brandColours } from '../catalog/themes.ts';
import type { MessagePerk } from '../perks/perk-messages.ts';
import { type Html, html, nothing, plainText, trusted } from '../platform/http/html.ts';
import { languages } from '../platform/i18n/languages.ts';
import { t } from '../platform/i18n/messages.ts';
import { lastDay, reader } from '../platform/i18n/reader.ts';
import type { MessageKind } from './store.ts';

type Brand = ReturnType<typeof brandColours>;

/** Rendered e-mail without headers. */
export type Written = { subject: string; html: string; text: string };

/** Data of an e-mail. `publisher` is the display name. `timeZone` determines when a day ends, for dates in the text. */
type Message = {
  publisher: string;
  brand: Brand;
  kind: MessageKind;
  perks: readonly MessagePerk[];
  unsubscribeUrl: string;
  timeZone: string;
};

/** Returns the style sheet for mail clients that support dark mode. Other clients use only the inline styles. */
const darkStyle = ({ dark }: Brand): string => `:root{color-scheme:light dark}@media (prefers-color-scheme:dark){
.page{background:${dark.surface}!important}
.card{background:${dark.tile}!important;border-color:${dark['tile-edge']}!important}
.text,.quiet{color:${dark.text}!important}
.button{background:${dark.action}!important;color:${dark['on-action']}!important}}`;

const font = 'font-family:-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif';
/**
 * Style for secondary text. It uses opacity instead of a mixed colour, because mail clients do not support colour
 * mixing.
 */
const small = 'font-size:13px;line-height:1.5;opacity:.85';

/** Renders an e-mail in the reader's language. */
export function renderMessage({ publisher, brand, kind, perks, unsubscribeUrl, timeZone }: Message): Written {
  const title =
    kind === 'reminder' ? t('endUser.message.reminder') : t('endUser.message.title', { count: perks.length });
  const why = t('endUser.message.why', { publisher });
  const unsubscribe = t('endUser.message.unsubscribe');
  return {
    subject: oneLine(`${publisher}: ${title}`),
    html: frame({
      publisher,
      brand,
      title,
      rows: html`${perks.map((perk) => perkRow(perk, brand, timeZone))}`,
      foot: html`${why}<br>
        <a class="quiet" href="${unsubscribeUrl}" style="color:${brand.light.text}">${unsubscribe}</a>`,
    }),
    text: [title, ...perks.map((perk) => perkText(perk, timeZone)), `${why}\n${unsubscribe}: ${unsubscribeUrl}`].join(
      '\n\n',
    ),
  };
}

/** Renders the e-mail that asks whether an address may receive messages. */
export function renderQuestion({
  publisher,
  brand,
  confirmUrl,
}: {
  publisher: string;
  brand: Brand;
  confirmUrl: string;
}): Written {
  const title = t('endUser.message.confirmTitle');
  const body = t('endUser.message.confirmText', { publisher });
  const rows = cardRow(
    html`<p style="margin:0">${body}</p>${button(confirmUrl, t('endUser.message.confirm'), brand)}`,
    brand,
  );
  return {
    subject: oneLine(`${publisher}: ${title}`),
    html: frame({ publisher, brand, title, rows, foot: nothing }),
    text: [title, body, `${t('endUser.message.confirm')}: ${confirmUrl}`].join('\n\n'),
  };
}

type Frame = { publisher: string; brand: Brand; title: string; rows: Html; foot: Html };

/**
 * Returns a style that aligns all text with the same edge, even if an offer is in a script with the opposite direction.
 */
const edge = (): string => `text-align:${languages[reader().language].direction === 'rtl' ? 'right' : 'left'}`;

/** Renders the frame of an e-mail. Layout tables and inline styles are used because mail clients support them. */
function frame({ publisher, brand, title, rows, foot }: Frame): string {
  const { language } = reader();
  const { surface, text } = brand.light;
  return html`<!doctype html>
<html lang="${language}" dir="${languages[language].direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${title}</title>
<style>${trusted(darkStyle(brand))}</style>
</head>
<body class="page" style="margin:0;padding:0;background:${surface}">
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" style="background:${surface}">
<tr><td align="center" style="padding:16px 8px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:600px">
<tr><td class="text" style="${font};${edge()};padding:8px 8px 16px;color:${text}">
<h1 style="margin:0;font-size:22px;line-height:1.3">${title}</h1>
<p style="margin:4px 0 0;${small}"><bdi>${publisher}</bdi></p></td></tr>
${rows}
<tr><td class="quiet" style="${font};${edge()};padding:16px 8px;color:${text};${small}">${foot}</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`.markup;
}

function cardRow(body: Html, { light }: Brand): Html {
  const box = `background:${light.tile};border:1px solid ${light['tile-edge']};border-radius:12px`;
  return html`<tr><td style="padding:0 0 12px">
<table role="presentation" class="card" width="100%" cellpadding="0" cellspacing="0" style="${box}">
<tr><td class="text" style="${font};${edge()};padding:20px;color:${light.text};font-size:15px;line-height:1.5">
${body}
</td></tr></table></td></tr>`;
}

function button(url: string, text: string, { light }: Brand): Html {
  const colours = `background:${light.action};color:${light['on-action']}`;
  return html`<p style="margin:16px 0 0"><a class="button" href="${url}" style="display:inline-block;padding:12px 20px;
border-radius:8px;${colours};text-decoration:none;font-weight:600">${text}</a></p>`;
}

function perkRow(perk: MessagePerk, brand: Brand, timeZone: string): Html {
  const { title, description, advertiser, url, coupon, endsAt } = perk;
  return cardRow(
    html`<p dir="auto" style="margin:0;${small}">${advertiser}</p>
<h2 dir="auto" style="margin:2px 0 6px;font-size:18px;line-height:1.3">${plainText(title)}</h2>
<p dir="auto" style="margin:0">${plainText(description)}</p>
${noteRow(untilOf(endsAt ?? null, timeZone))}${coupon == null ? nothing : codePart(coupon, brand, timeZone)}
${url === '' ? nothing : button(url, t('endUser.message.use'), brand)}`,
    brand,
  );
}

const noteRow = (text: string): Html =>
  text === '' ? nothing : html`<p dir="auto" style="margin:4px 0 0;${small}">${plainText(text)}</p>`;

const untilOf = (endsAt: string | null, timeZone: string): string =>
  endsAt === null ? '' : t('endUser.coupon.until', { date: lastDay(endsAt, timeZone) });

function codePart(coupon: NonNullable<MessagePerk['coupon']>, brand: Brand, timeZone: string): Html {
  const { code, expires_at: expiresAt, terms } = coupon;
  const box = `padding:10px 14px;border:1px dashed ${brand.light['tile-edge']};border-radius:8px`;
  return html`<p style="margin:16px 0 4px;${small}">${t('endUser.coupon.code')}</p>
<p class="card" dir="ltr" style="margin:0;${box};font:600 18px/1.3 Consolas,Menlo,monospace;word-break:break-all">
${code}</p>
${noteRow(untilOf(expiresAt, timeZone))}${noteRow(terms)}`;
}

function perkText(perk: MessagePerk, timeZone: string): string {
  const { title, description, advertiser, url, coupon, endsAt } = perk;
  const untilText = (at: string | null): string => untilOf(at, timeZone);
  const code =
    coupon == null ? [] : [`${t('endUser.coupon.code')}: ${coupon.code}`, untilText(coupon.expires_at), coupon.terms];
  const lines = [
    `${plainText(title)} (${advertiser})`,
    plainText(description),
    untilText(endsAt ?? null),
    ...code,
    url,
  ];
  return lines.filter((line) => line !== '').join('\n');
}

/** Converts a name to a single line for use in a header. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
