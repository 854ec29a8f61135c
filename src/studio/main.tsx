/** Where the studio begins. */
import { render } from 'preact';
import '../report/style/base.css';
import '../report/style/parts.css';
import './style/frame.css';
import './style/session.css';
import { App } from './app.tsx';
import { Client } from './client.ts';
import { applyTheme, storedTheme } from './theme.ts';
import { takeToken } from './token.ts';

const place = document.getElementById('studio');
if (place === null) throw new Error('the page has no element "studio"');
applyTheme(storedTheme());
render(<App client={new Client(takeToken)} />, place);
