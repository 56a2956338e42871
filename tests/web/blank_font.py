"""blank_font.py OUT.ttf - makes blank.ttf: one empty glyph, half as wide as the font is high, for every character (fontTools)."""
import sys

from fontTools.fontBuilder import FontBuilder
from fontTools.ttLib import newTable
from fontTools.ttLib.tables._c_m_a_p import CmapSubtable
from fontTools.ttLib.tables._g_l_y_f import Glyph

b = FontBuilder(1000, isTTF=True)
b.setupGlyphOrder(['.notdef', 'blank'])
b.setupCharacterMap({})
b.setupGlyf({'.notdef': Glyph(), 'blank': Glyph()})
b.setupHorizontalMetrics({'.notdef': (500, 0), 'blank': (500, 0)})
b.setupHorizontalHeader(ascent=800, descent=-200)
b.setupNameTable({'familyName': 'Blank', 'styleName': 'Regular'})
b.setupOS2(sTypoAscender=800, sTypoDescender=-200, usWinAscent=800, usWinDescent=200)
b.setupPost(keepGlyphNames=False)
table = CmapSubtable.getSubtableClass(13)(13)
table.platformID, table.platEncID, table.format, table.reserved, table.length, table.language, table.nGroups = 3, 10, 13, 0, 0, 0, 0
table.cmap = {c: 'blank' for c in range(0x20, 0x110000)}
cmap = newTable('cmap')
cmap.tableVersion, cmap.tables = 0, [table]
b.font['cmap'] = cmap
b.font['head'].created = b.font['head'].modified = 0
b.font.recalcTimestamp = False
b.font.save(sys.argv[1])
