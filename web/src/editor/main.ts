// The text editor. It is a file of its own, which the page loads when somebody edits: it is larger than the rest of the page.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, foldGutter, foldKeymap, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, lintKeymap } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState, Compartment } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import { LanguageService } from './language.ts';
import { COLOURS, THEME } from './theme.ts';
import type { EditorOptions, TextEditor } from './types.ts';

/** Makes an editor. It is in a shadow tree: the styles that it makes itself are not those of the page, whose policy allows only files. */
export function createEditor({ parent, text, path, label, service, changed, save }: EditorOptions): TextEditor {
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: 'open' });
  root.replaceChildren();
  const served = new Compartment();
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        foldGutter(),
        lintGutter(),
        highlightActiveLineGutter(),
        highlightActiveLine(),
        highlightSpecialChars(),
        highlightSelectionMatches(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        indentOnInput(),
        indentUnit.of('  '),
        EditorState.tabSize.of(2),
        EditorView.lineWrapping,
        path.endsWith('.md') ? [] : yaml(),
        syntaxHighlighting(COLOURS),
        THEME,
        autocompletion(),
        served.of([]),
        keymap.of([
          { key: 'Mod-s', preventDefault: true, run: () => (save(), true) },
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...foldKeymap,
          ...completionKeymap,
          ...lintKeymap,
          indentWithTab,
        ]),
        EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed(update.state.doc.toString());
        }),
      ],
    }),
  });
  const stop = service?.attach((extension) => view.dispatch({ effects: served.reconfigure(extension) }), path);
  return {
    setText(now) {
      if (now !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: now } });
    },
    goTo(line, column) {
      const at = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines));
      const anchor = Math.min(at.to, at.from + Math.max(0, column - 1));
      view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) });
      view.focus();
    },
    focus: () => view.focus(),
    close() {
      stop?.();
      view.destroy();
    },
  };
}

export { LanguageService };
