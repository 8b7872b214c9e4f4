// How the editor looks: with the colours of the page, which reach into its shadow tree.

import { HighlightStyle } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags as t } from '@lezer/highlight';

export const COLOURS = HighlightStyle.define([
  { tag: [t.propertyName, t.definition(t.propertyName)], color: 'var(--input)' },
  { tag: [t.string, t.special(t.string)], color: 'var(--done)' },
  { tag: [t.number, t.bool, t.null, t.keyword], color: 'var(--step)' },
  { tag: t.comment, color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [t.labelName, t.typeName, t.meta], color: 'var(--env)' },
  { tag: [t.heading, t.strong], fontWeight: 'bold' },
  { tag: t.invalid, color: 'var(--failed)' },
]);

export const THEME = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--panel)', color: 'var(--text)', fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--muted)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--accent-soft) 45%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { background: 'color-mix(in srgb, var(--accent) 28%, transparent)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--env-soft)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--hover)', border: '1px solid var(--line-strong)', color: 'var(--muted)' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--text)', border: '1px solid var(--line-strong)', borderRadius: '6px', boxShadow: 'var(--shadow)', maxWidth: '34rem', fontFamily: 'var(--sans)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': { background: 'var(--primary)', color: 'var(--on-primary)' },
  '.cm-completionDetail': { color: 'inherit', opacity: '0.75' },
  '.cm-diagnostic': { borderLeftWidth: '3px', padding: '4px 8px', whiteSpace: 'pre-wrap' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--failed)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--stopped)' },
  '.cm-panels': { backgroundColor: 'var(--sunken)', color: 'var(--text)' },
  '.cm-panels input, .cm-panels button, .cm-panel.cm-search label': { color: 'var(--text)', backgroundColor: 'var(--panel)', backgroundImage: 'none', border: '1px solid var(--line-strong)', borderRadius: '4px' },
  '.about': { padding: '6px 10px', maxHeight: '18rem', overflow: 'auto', lineHeight: '1.45' },
  '.about p, .about pre, .about ul, .about ol, .about h4': { margin: '4px 0' },
  '.about pre, .about code': { fontFamily: 'var(--mono)', fontSize: '12px', whiteSpace: 'pre-wrap' },
});
