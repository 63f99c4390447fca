/**
 * Headers of every dashboard page. Scripts and styles come from our own files only; nothing may frame, keep or index a
 * page.
 * Pictures may be wherever an advertiser keeps them. `same-origin`: forms must name their origin.
 */
export const pageHeaders = (publicUrl: string, framedBy: "'none'" | "'self'" = "'none'"): Record<string, string> => ({
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' ${publicUrl} https: data:`,
    "connect-src 'self'",
    "frame-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    `frame-ancestors ${framedBy}`,
  ].join('; '),
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  ...(framedBy === "'none'" && { 'x-frame-options': 'DENY' }),
  'cross-origin-opener-policy': 'same-origin',
  'x-robots-tag': 'noindex, nofollow',
});
