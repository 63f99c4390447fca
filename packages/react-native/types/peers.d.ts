/**
 * Types of the APIs that this package uses from its peer dependencies. The peers are not installed here because React
 * Native is larger than all other dependencies together. Apps compile against the peers' own types.
 */
declare module 'react-native' {
  export const Linking: { openURL: (url: string) => Promise<unknown> };
}

declare module 'react-native-webview' {
  import { Component } from 'react';

  type Event<Native> = { nativeEvent: Native };
  type Style = { width?: number; height?: number; flex?: number };

  export type WebViewProps = {
    source?: { html: string; baseUrl?: string } | { uri: string };
    style?: unknown;
    containerStyle?: Style;
    originWhitelist?: string[];
    javaScriptEnabled?: boolean;
    domStorageEnabled?: boolean;
    setSupportMultipleWindows?: boolean;
    onLoadEnd?: () => void;
    onMessage?: (event: Event<{ data: string }>) => void;
    onError?: (event: Event<{ description: string }>) => void;
    onShouldStartLoadWithRequest?: (request: { url: string; isTopFrame: boolean }) => boolean;
  };

  export class WebView extends Component<WebViewProps> {
    injectJavaScript: (script: string) => void;
  }
}
