import { Component, createElement, type ReactNode } from 'react';

/** Scripts that were injected into web views, in their order. */
export const injected: string[] = [];

/** Shows its props as a host element, through which tests send what a page sends. */
export class WebView extends Component<Record<string, unknown>> {
  injectJavaScript = (script: string): void => {
    injected.push(script);
  };

  override render(): ReactNode {
    return createElement('web-view', this.props);
  }
}
