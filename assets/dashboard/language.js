// uPlot passes the browser's language to Intl when it is loaded, and fails if Intl does not know it: Chromium without a
// locale, as on many servers, reports en-US@posix.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en' });
}
