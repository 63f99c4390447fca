// uPlot passes the browser's language to Intl when it loads, and fails if Intl rejects it. Chromium without a locale,
// as on many servers, reports the invalid tag en-US@posix.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en' });
}
