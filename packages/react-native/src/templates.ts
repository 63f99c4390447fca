/** Generated from assets/html by make-templates.js: do not edit. */

export const checkoutTemplate = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
    <meta name="color-scheme" content="light dark">
    <meta name="robots" content="noindex">
    <title>Offers</title>
    <style>
      :root {
        color-scheme: light dark;
        --background: #f6f7f9;
        --text: #5b6270;
      }
      @media (prefers-color-scheme: dark) {
        :root {
          --background: #14161b;
          --text: #a9b0bd;
        }
      }
      html {
        background: var(--background);
      }
      body {
        box-sizing: border-box;
        display: grid;
        margin: 0;
        min-height: 100vh;
        min-height: 100dvh;
        padding: env(safe-area-inset-top) env(safe-area-inset-right) env(safe-area-inset-bottom)
          env(safe-area-inset-left);
        color: var(--text);
        font: 16px/1.5 system-ui, sans-serif;
      }
      #waiting {
        margin: auto;
        animation: hide 0s 10s forwards;
      }
      #waiting:has(~ :not(script)) {
        display: none;
      }
      @keyframes hide {
        to {
          visibility: hidden;
        }
      }
    </style>
  </head>
  <body>
    <p id="waiting" role="status">Loading offers…</p>
    <script>
      window.AdUser = %%AdUser%%;
      window.AdConfig = {
        accountId: '%%SDK_ID%%',
        %%CONFIG%%,
        // Without a callback, the SDK calls the app's handler adCallback with every event.
        autoShow: true
      };
    </script>
    <script data-sdk="%%SDK_CDN_URL%%">
      // If the app does not replace this URL, the SDK is loaded from the service.
      (function (page) {
        var service = location.origin;
        var address = page.getAttribute('data-sdk');
        var script = document.createElement('script');
        script.async = false;
        script.src = /^(%|$)/.test(address) ? service + '/launcher.min.js' : address;
        // Reports at once if the SDK is unreachable or blocked, or if the web view is too old for it.
        script.onload = function () {
          if (!window.Ad) fail('unexpected_error', 'This web view is too old for the SDK.');
        };
        script.onerror = function () {
          fail('connection_error', 'The SDK cannot be loaded.');
        };
        function fail(kind, message) {
          document.getElementById('waiting').hidden = true;
          tell('error', { kind: kind, message: message });
          if (kind === 'unexpected_error') tell('no_ads_found', { offerCount: 0, total: 0 });
          tell('ads_found', { offerCount: 0, total: 0 });
        }
        document.head.appendChild(script);
        function tell(event, payload) {
          var callback = window.AdConfig.callback;
          var native = window.ReactNativeWebView;
          var flutter = window.flutter_inappwebview;
          var apple = window.webkit && webkit.messageHandlers && webkit.messageHandlers.adCallback;
          var message = { name: event };
          for (var member in payload) message[member] = payload[member];
          if (native) native.postMessage(JSON.stringify(message));
          if (callback) callback(event, payload);
          else if (flutter && flutter.callHandler) flutter.callHandler('adCallback', event, payload);
          else if (apple) apple.postMessage(message);
          else if (window.Android && Android.adCallback) Android.adCallback(event, JSON.stringify(payload));
          else if (!native)
            addEventListener('flutterInAppWebViewPlatformReady', function () {
              flutter = window.flutter_inappwebview;
              if (flutter && flutter.callHandler) flutter.callHandler('adCallback', event, payload);
            });
        }
      })(document.currentScript);
    </script>
  </body>
</html>
`;

export const prefetchTemplate = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
    <meta name="color-scheme" content="light dark">
    <meta name="robots" content="noindex">
    <title>Offers</title>
  </head>
  <body>
    <!-- For a hidden web view of size 0×0. Loads offers and stores them for checkout.html. Shows nothing. -->
    <script>
      window.AdUser = {};
      window.AdConfig = {
        accountId: '%%SDK_ID%%',
        autoLoad: true,
        prefetch: true,
        // Without a callback, the SDK calls the app's handler adCallback with every event.
        autoShow: false
      };
    </script>
    <script data-sdk="%%SDK_CDN_URL%%">
      // If the app does not replace this URL, the SDK is loaded from the service.
      (function (page) {
        var service = location.origin;
        var address = page.getAttribute('data-sdk');
        var script = document.createElement('script');
        script.async = false;
        script.src = /^(%|$)/.test(address) ? service + '/launcher.min.js' : address;
        // Reports at once if the SDK is unreachable or blocked, or if the web view is too old for it.
        script.onload = function () {
          if (!window.Ad) fail('unexpected_error', 'This web view is too old for the SDK.');
        };
        script.onerror = function () {
          fail('connection_error', 'The SDK cannot be loaded.');
        };
        function fail(kind, message) {
          tell('error', { kind: kind, message: message });
          if (kind === 'unexpected_error') tell('no_ads_found', { offerCount: 0, total: 0 });
          tell('ads_found', { offerCount: 0, total: 0 });
        }
        document.head.appendChild(script);
        function tell(event, payload) {
          var callback = window.AdConfig.callback;
          var native = window.ReactNativeWebView;
          var flutter = window.flutter_inappwebview;
          var apple = window.webkit && webkit.messageHandlers && webkit.messageHandlers.adCallback;
          var message = { name: event };
          for (var member in payload) message[member] = payload[member];
          if (native) native.postMessage(JSON.stringify(message));
          if (callback) callback(event, payload);
          else if (flutter && flutter.callHandler) flutter.callHandler('adCallback', event, payload);
          else if (apple) apple.postMessage(message);
          else if (window.Android && Android.adCallback) Android.adCallback(event, JSON.stringify(payload));
          else if (!native)
            addEventListener('flutterInAppWebViewPlatformReady', function () {
              flutter = window.flutter_inappwebview;
              if (flutter && flutter.callHandler) flutter.callHandler('adCallback', event, payload);
            });
        }
      })(document.currentScript);
    </script>
  </body>
</html>
`;
