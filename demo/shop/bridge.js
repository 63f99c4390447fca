// Simulates an Android app in the demo phone's web views. The app adds this object to the page and receives all events.
window.Android = {
  adCallback: (event, json) => window.parent.postMessage({ event, payload: JSON.parse(json) }, window.location.origin),
};

// Simulates the app's navigation delegate. The app opens links on `url_clicked`, so the web view does not.
window.addEventListener('click', (event) => {
  if (event.composedPath().some((element) => element instanceof HTMLAnchorElement)) event.preventDefault();
});
