import { Component, createElement, type ReactNode } from 'react';

/** Scripts that were injected into web views, in order. */
export const injected: string[] = [];

/** Renders its props as a host element, through which tests simulate messages from the page. */
export class WebView extends Component<Record<string, unknown>> {
  injectJavaScript = (script: string): void => {
    injected.push(script);
  };

  override render(): ReactNode {
    return createElement('web-view', this.props);
  }
}
