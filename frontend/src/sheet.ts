/** The style sheet of pages for annotators that have no script. */
import './styles/tokens.css';
import './styles/base.css';
import './annotator/annotator.css';
