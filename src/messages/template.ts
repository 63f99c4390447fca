import { type Html, html, nothing, plainText, trusted } from '../platform/http/html.ts';
import { languages } from '../platform/i18n/languages.ts';
import { t } from '../platform/i18n/messages.ts';
import { reader } from '../platform/i18n/reader.ts';
import type { MessagePerk } from './store.ts';

type Message = { publisher: string; perks: readonly MessagePerk[]; unsubscribeUrl: string };

/** Mail clients that know dark mode; the others show the inline styles. */
const darkStyle = `:root{color-scheme:light dark}@media (prefers-color-scheme:dark){
.page{background:#16181d!important}.card{background:#23262d!important;border-color:#3a3f4a!important}
.text{color:#f2f3f5!important}.quiet{color:#b5bac4!important}.code{background:#16181d!important;color:#fff!important}
.button{background:#f2f3f5!important;color:#16181d!important}}`;

const font = 'font-family:-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif';

/** The mail in the language of the reader. Tables and inline styles: what mail clients keep. */
export function renderMessage({ publisher, perks, unsubscribeUrl }: Message) {
  const { language } = reader();
  const { direction } = languages[language];
  const title = t('endUser.message.title', { count: perks.length });
  const why = t('endUser.message.why', { publisher });
  const body = html`<!doctype html>
<html lang="${language}" dir="${direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${title}</title>
<style>${trusted(darkStyle)}</style>
</head>
<body class="page" style="margin:0;padding:0;background:#f2f3f5">
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" style="background:#f2f3f5">
<tr><td align="center" style="padding:16px 8px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:600px">
<tr><td class="text" style="${font};padding:8px 8px 16px;color:#16181d">
<h1 style="margin:0;font-size:22px;line-height:1.3">${title}</h1>
<p class="quiet" style="margin:4px 0 0;color:#545b68;font-size:14px"><bdi>${publisher}</bdi></p></td></tr>
${perks.map(perkRow)}
<tr><td class="quiet" style="${font};padding:16px 8px;color:#545b68;font-size:13px;line-height:1.5">${why}<br>
<a class="quiet" href="${unsubscribeUrl}" style="color:#545b68">${t('endUser.message.unsubscribe')}</a></td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`.markup;
  return { subject: oneLine(`${publisher}: ${title}`), html: body, text: textOf({ publisher, perks, unsubscribeUrl }) };
}

function perkRow({ title, description, advertiser, url, coupon }: MessagePerk): Html {
  const link =
    url === ''
      ? nothing
      : html`<p style="margin:16px 0 0"><a class="button" href="${url}" style="display:inline-block;padding:12px 20px;
border-radius:8px;background:#16181d;color:#ffffff;text-decoration:none;font-weight:600">${t('endUser.message.use')}</a>
</p>`;
  return html`<tr><td style="padding:0 0 12px">
<table role="presentation" class="card" width="100%" cellpadding="0" cellspacing="0"
style="background:#ffffff;border:1px solid #dfe2e8;border-radius:12px">
<tr><td class="text" style="${font};padding:20px;color:#16181d;font-size:15px;line-height:1.5">
<p class="quiet" dir="auto" style="margin:0;color:#545b68;font-size:13px">${advertiser}</p>
<h2 dir="auto" style="margin:2px 0 6px;font-size:18px;line-height:1.3">${plainText(title)}</h2>
<p dir="auto" style="margin:0">${plainText(description)}</p>
${coupon == null ? nothing : codePart(coupon)}${link}
</td></tr></table></td></tr>`;
}

const untilOf = (expiresAt: string | null): string =>
  expiresAt === null ? '' : t('endUser.coupon.until', { date: dayOf(expiresAt) });

const dayOf = (at: string): string =>
  new Intl.DateTimeFormat(reader().locale, { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(at));

function codePart({ code, expires_at: expiresAt, terms }: NonNullable<MessagePerk['coupon']>): Html {
  const notes = [untilOf(expiresAt), terms].filter((text) => text !== '');
  return html`<p class="quiet" style="margin:16px 0 4px;color:#545b68;font-size:13px">${t('endUser.coupon.code')}</p>
<p class="code" dir="ltr" style="margin:0;padding:10px 14px;border-radius:8px;background:#f2f3f5;color:#16181d;
font:600 18px/1.3 Consolas,Menlo,monospace;word-break:break-all">${code}</p>
${notes.map(
  (text) =>
    html`<p class="quiet" dir="auto" style="margin:4px 0 0;color:#545b68;font-size:13px">${plainText(text)}</p>`,
)}`;
}

function textOf({ publisher, perks, unsubscribeUrl }: Message): string {
  const perkText = ({ title, description, advertiser, url, coupon }: MessagePerk): string =>
    [
      `${plainText(title)} (${advertiser})`,
      plainText(description),
      ...(coupon == null
        ? []
        : [`${t('endUser.coupon.code')}: ${coupon.code}`, untilOf(coupon.expires_at), coupon.terms]),
      url,
    ]
      .filter((line) => line !== '')
      .join('\n');
  return [
    t('endUser.message.title', { count: perks.length }),
    ...perks.map(perkText),
    `${t('endUser.message.why', { publisher })}\n${t('endUser.message.unsubscribe')}: ${unsubscribeUrl}`,
  ].join('\n\n');
}

/** A header has one line, whatever a name holds. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
